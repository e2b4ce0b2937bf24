"""Kerf's networks against torchvision's: weights both ways through safetensors, and the same result.

python against_torch.py PATH-OF-THE-EXAMPLE-forward   (cargo build --release -p kerf-quant --example forward)
"""
import subprocess, sys, tempfile
import torch, torchvision
from safetensors.torch import load_file, save_file

program = sys.argv[1]
NETS = ["resnet18", "resnet50", "resnet101", "resnet152", "efficientnet-b0", "mobilenet-v2"]


def small_images(name):
    """torchvision's network in the form for 32x32 images."""
    net = getattr(torchvision.models, name.replace("-", "_"))(num_classes=10)
    if name.startswith("resnet"):
        net.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        net.maxpool = torch.nn.Identity()
    else:
        net.features[0][0].stride = (1, 1)
    if name == "mobilenet-v2":
        net.features[2].conv[1][0].stride = (1, 1)
    return net


torch.manual_seed(1)
torch.set_num_threads(2)
bad = 0
for name in NETS:
    net = small_images(name)
    for m in net.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.8, 1.2)
            m.weight.data.uniform_(0.8, 1.2)
            m.bias.data.normal_(0, 0.1)
    net.eval()
    images = torch.randn(4, 3, 32, 32)
    with tempfile.TemporaryDirectory() as d:
        save_file(net.state_dict(), d + "/theirs.safetensors")
        save_file({"images": images}, d + "/images.safetensors")
        subprocess.run([program, name, d], check=True)
        with torch.no_grad():
            # In f64, so that only one side rounds.
            want = net.double()(images.double())
        got = load_file(d + "/logits.safetensors")["logits"].double()
        scale = want.abs().max().item()
        error = (got - want).abs().max().item() / scale
        net.float()
        net.load_state_dict(load_file(d + "/ours.safetensors"), strict=True)
        same = all(torch.equal(a, b) for a, b in
                   zip(net.state_dict().values(), load_file(d + "/theirs.safetensors").values())) or all(
            torch.equal(load_file(d + "/theirs.safetensors")[k], v) for k, v in net.state_dict().items())
        net.load_state_dict(load_file(d + "/first.safetensors"), strict=True)
    count = sum(p.numel() for p in net.parameters())
    ok = error < 1e-5 and same
    bad += not ok
    print(f"{name:16} {count:9} parameters  largest difference {error:.2e} of the largest result  "
          f"weights {'the same after both ways' if same else 'DIFFER'}", flush=True)
sys.exit(bad)
