"""ResNet-18 that Kerf trained, loaded and evaluated by PyTorch, and saved by it again.
python in_torch.py FOLDER-OF-TEST-BATCH WEIGHTS.safetensors TOLD.json [SAVE.safetensors]   (TOLD: mean, std)"""
import json, sys
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.downsample = None
        if stride > 1 or i != o:
            self.downsample = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        i = 64
        for k, (o, s) in enumerate([(64, 1), (128, 2), (256, 2), (512, 2)], 1):
            setattr(self, f"layer{k}", nn.Sequential(Block(i, o, s), Block(o, o, 1)))
            i = o
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for k in range(1, 5):
            x = getattr(self, f"layer{k}")(x)
        return self.fc(x.mean((2, 3)))


def read(path):
    """safetensors without its package."""
    raw = open(path, "rb").read()
    n = int.from_bytes(raw[:8], "little")
    head, kinds = json.loads(raw[8:8 + n]), {"F32": np.float32, "I64": np.int64}
    out = {}
    for k, v in head.items():
        if k != "__metadata__":
            a, b = v["data_offsets"]
            out[k] = torch.from_numpy(np.frombuffer(raw[8 + n + a:8 + n + b], kinds[v["dtype"]]).reshape(v["shape"]).copy())
    return out


try:
    from safetensors.torch import load_file, save_file
except ImportError:
    load_file, save_file = read, None
folder, weights, told = sys.argv[1:4]
net = ResNet18()
net.load_state_dict(load_file(weights), strict=True)
device = "cuda" if torch.cuda.is_available() else "cpu"
net = net.eval().to(device)
told = json.load(open(told))
raw = np.fromfile(folder + "/test_batch.bin", np.uint8).reshape(-1, 3073)
mean, std = (np.array(told[k], np.float32).reshape(1, 3, 1, 1) for k in ("mean", "std"))
x = torch.from_numpy((raw[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / np.float32(255) - mean) / std)
y = torch.from_numpy(raw[:, 0].astype(np.int64))
with torch.no_grad():
    right = sum(int((net(x[i:i + 500].to(device)).argmax(1).cpu() == y[i:i + 500]).sum()) for i in range(0, len(x), 500))
print(json.dumps({"torch": torch.__version__, "safetensors": save_file is not None, "device": device, "correct": right}))
if len(sys.argv) > 4 and save_file:
    save_file({k: v.cpu().contiguous() for k, v in net.state_dict().items()}, sys.argv[4])
