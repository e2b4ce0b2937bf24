"""An exported network in ONNX Runtime on the CPU: accuracy of INT8 and FP32 on CIFAR-10's test images, and their times,
in turn.   python ort_check.py FOLDER-OF-TEST-BATCH BASE [threads] [images]   (BASE.onnx, BASE.fp32.onnx, BASE.json)"""
import json, sys, time
import numpy as np
import onnxruntime as ort

folder, base = sys.argv[1], sys.argv[2]
threads = int(sys.argv[3]) if len(sys.argv) > 3 else 0
count = int(sys.argv[4]) if len(sys.argv) > 4 else 10000
told = json.load(open(base + ".json"))
raw = np.fromfile(folder + "/test_batch.bin", np.uint8).reshape(-1, 3073)[:count]
mean, std = (np.array(told[k], np.float32).reshape(1, 3, 1, 1) for k in ("mean", "std"))
x = (raw[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / np.float32(255) - mean) / std
labels = raw[:, 0]
options = ort.SessionOptions()
options.intra_op_num_threads = threads
sessions = {}
for kind, name in [("int8", base + ".onnx"), ("fp32", base + ".fp32.onnx")]:
    sessions[kind] = ort.InferenceSession(name, options, providers=["CPUExecutionProvider"])
result = {"onnxruntime": ort.__version__, "threads": threads, "images": count, "trained": told}
times = {k: [] for k in sessions}
right = {k: 0 for k in sessions}
batch = 100
for s in sessions.values():
    s.run(None, {"input": x[:batch]})
for i in range(0, count, batch):
    for kind, s in sessions.items():
        t = time.perf_counter()
        y = s.run(None, {"input": x[i:i + batch]})[0]
        times[kind].append(time.perf_counter() - t)
        right[kind] += int((y.argmax(1) == labels[i:i + batch]).sum())
for k in sessions:
    t = np.array(times[k])
    result[k] = {"correct": right[k], "median_ms_of_100": round(1e3 * float(np.median(t)), 3),
                 "images_s": round(batch / float(np.median(t)), 1)}
ratio = np.array(times["fp32"]) / np.array(times["int8"])
result["speedup"] = {"median": round(float(np.median(ratio)), 3),
                     "quartiles": [round(float(q), 3) for q in np.quantile(ratio, [0.25, 0.75])]}
print(json.dumps(result))
