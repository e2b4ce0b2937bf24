#!/usr/bin/env python3
"""Commands that write results, killed at random points, and on disks that are full or read-only.

    bench/durability.py kills --kerf target/debug/kerf --points 10 --out FOLDER
    bench/durability.py disk  --kerf target/debug/kerf --out FOLDER      (as root: it mounts small file systems)

`kills` runs each command once undisturbed, then `--points` times killed (kill -9) at a random moment of that time, the
moments drawn from `--seed`, and resumed until it ends. The results have to be the undisturbed ones, times apart, and
whatever was stored at the kill has to be there afterwards as it was: it was not made again.

`disk` gives each command a file system with less and less room, and a read-only one, in which results of an earlier
run lie. Each time the command has to succeed, or to end with exit code 2 and a message that names a file there; the
earlier results have to be whole: as they were, or as the command writes them when it has room.

`kerf device` needs a GPU: it is run where there is one, and otherwise said not to have been run.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

WORKLOAD = """source = "smooth.cu"
[sizes]
n = 2048
[[buffer]]
name = "x"
type = "f64"
len = "n"
init = { uniform = [0.0, 4.0] }
[[buffer]]
name = "y"
type = "f64"
len = "n"
init = { uniform = [-1.0, 1.0] }
[[buffer]]
name = "out"
type = "f64"
len = "n"
output = true
[[launch]]
kernel = "smooth"
grid = ["ceil_div(n, 64)"]
block = [64]
args = ["x", "y", "out", "n"]
"""

SOURCE = """__global__ void smooth(const double *x, const double *y, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double weights = 0.0, sum = 0.0;
  for (int k = max(0, i - 16); k < min(n, i + 17); k++) {
    double d = x[k] - x[i];
    double w = exp(-d * d);
    weights += w;
    sum += w * y[k];
  }
  out[i] = sum / weights;
}
"""


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]


def without_times(value):
    """A JSON document without what a clock decides."""
    clocks = ("wall_s", "evaluation_s", "spent", "time_s", "seconds", "samples_s", "time", "elapsed_s", "train_s")
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in clocks}
    if isinstance(value, list):
        return [without_times(v) for v in value]
    return value


def document(path):
    return without_times(json.loads(pathlib.Path(path).read_text()))


def rows(folder):
    """Evaluations of a folder, by what they are of: the whole row, its own time included."""
    file = folder / "evaluations.sqlite"
    if not file.exists():
        return {}
    db = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        found = db.execute("SELECT phase, assignment, input, error, failure, wall_s, detail FROM evaluation").fetchall()
    except sqlite3.OperationalError:
        return {}
    finally:
        db.close()
    return {r[:3]: r[3:] for r in found}


class Tune:
    name = "tune"

    def __init__(self, kerf, work):
        self.kerf = kerf
        (work / "smooth.cu").write_text(SOURCE)
        (work / "smooth.toml").write_text(WORKLOAD)
        self.work = work

    def command(self, out):
        return [self.kerf, "tune", str(self.work / "smooth.toml"), "--tolerance", "1e-7", "--budget", "40",
                "--strategy", "random", "--cost", "static", "--validate", "10", "--seed", "3", "--out", str(out), "--resume"]

    def stored(self, out):
        return rows(out)

    def result(self, out):
        kept = {k: v[:2] for k, v in rows(out).items()}
        plan = json.loads((out / "plan.json").read_text())
        ptx = {f.name: digest(f) for f in sorted(out.glob("*.ptx"))}
        return [document(out / "result.json"), plan, ptx, sorted(map(repr, kept.items()))]


class TuneApp(Tune):
    name = "tune --app"

    def __init__(self, kerf, work):
        self.kerf, self.work = kerf, work
        source = ROOT / "crates/kerf/tests/apps/steps.cu"
        subprocess.run([kerf, "cc", "-O1", "-o", str(work / "steps"), str(source)], check=True, capture_output=True)

    def command(self, out):
        return [self.kerf, "tune", "--app", str(self.work / "steps"), "--tolerance", "1e-5", "--budget", "12",
                "--strategy", "random",
                "--out", str(out), "--resume"]

    def result(self, out):
        kept = {k: v[:2] for k, v in rows(out).items()}
        plan = json.loads((out / "plan.json").read_text())
        return [document(out / "result.json"), plan, sorted(map(repr, kept.items()))]


class Hardround:
    name = "hardround"

    def __init__(self, kerf, work):
        self.kerf = kerf

    def command(self, out):
        out.mkdir(exist_ok=True)
        return [self.kerf, "hardround", "exp", "--from", "1", "--to", "0x1.01p+0", "--bits", "42", "--out",
                str(out / "exp.wc"), "--resume"]

    def stored(self, out):
        file = out / "exp.wc.cert"
        text = file.read_text() if file.exists() else ""
        whole = text[: text.rfind("\n") + 1].splitlines()
        units = [json.loads(line)["unit"] for line in whole[1:] if line.startswith('{"unit"')]
        assert len(units) == len(set(units)), "a unit is there twice"
        return {line: True for line in whole}

    def result(self, out):
        # Units end in any order.
        lines = sorted(line for line in (out / "exp.wc.cert").read_text().splitlines())
        timeless = [json.dumps(without_times(json.loads(line)), sort_keys=True) for line in lines]
        return [(out / "exp.wc").read_text(), timeless]


class Quantize:
    name = "quantize train"

    def __init__(self, kerf, work):
        self.kerf = kerf

    def command(self, out):
        return [self.kerf, "quantize", "train", "--data", "stripes", "--epochs", "1", "--batch", "64", "--seeds", "2",
                "--out", str(out), "--resume"]

    def stored(self, out):
        # A checkpoint is replaced by a later one; that it is a whole one, going on from it shows.
        return {str(f.relative_to(out)): True for f in out.glob("seed-*/checkpoint.safetensors")}

    def result(self, out):
        weights = {str(f.relative_to(out)): digest(f) for f in sorted(out.glob("seed-*/weights.safetensors"))}
        models = {str(f.relative_to(out)): document(f) for f in sorted(out.glob("seed-*/model.json"))}
        return [document(out / "result.json"), weights, models]


class Device:
    name = "device"

    def __init__(self, kerf, work):
        self.kerf = kerf

    def command(self, out):
        out.mkdir(exist_ok=True)
        return [self.kerf, "device", "--quick", "--only", "fma.f64", "--out", str(out / "gpu.json"), "--resume"]

    def stored(self, out):
        # Every figure that is known, by operation: one that was stored is not measured again.
        files = [f for f in (out / "gpu.json", out / "gpu.json.partial") if f.exists()]
        if not files:
            return {}
        operations = json.loads(files[0].read_text()).get("operations", {})
        figures = {(key, name): json.dumps(figure) for key, all_figures in operations.items()
                   for name, figure in all_figures.items() if name in ("latency", "throughput")}
        return {k: v for k, v in figures.items() if '"unknown"' not in v}

    def result(self, out):
        # Times are measured anew: what is compared is which figures there are.
        return sorted(json.loads((out / "gpu.json").read_text())["operations"])


COMMANDS = [Tune, TuneApp, Hardround, Quantize, Device]


def environment(cache):
    return dict(os.environ, KERF_CACHE=str(cache), NO_COLOR="1", KERF_DEVICE="cpu")


def kills(args, out):
    generator = random.Random(args.seed)
    table, lost = [], 0
    log = (out / "kills.txt").open("w")
    for kind in COMMANDS:
        if args.only and kind.name not in args.only:
            continue
        work = pathlib.Path(tempfile.mkdtemp(prefix="durability-"))
        env = environment(work / "cache")
        command = kind(args.kerf, work)
        whole = work / "whole"
        # Once for the cache, so that the times below are of the command itself.
        first = subprocess.run(command.command(work / "warm"), env=env, capture_output=True, text=True)
        if kind is Device and first.returncode == 2 and "cannot measure a GPU" in first.stderr:
            table.append((kind.name, "-", "-", "-", "-", "not run: no GPU"))
            shutil.rmtree(work, ignore_errors=True)
            continue
        begun = time.time()
        done = subprocess.run(command.command(whole), env=env, capture_output=True, text=True)
        seconds = time.time() - begun
        assert done.returncode == 0, done.stderr
        expected, total = command.result(whole), len(command.stored(whole))
        equal, kept, amounts = 0, 0, []
        for point in range(args.points):
            folder = work / f"point-{point}"
            moment = generator.uniform(0.0, seconds)
            child = subprocess.Popen(command.command(folder), env=env, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            try:
                child.wait(moment)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            before = command.stored(folder)
            again = subprocess.run(command.command(folder), env=env, capture_output=True, text=True)
            after = command.stored(folder)
            same = again.returncode == 0 and command.result(folder) == expected
            whole_rows = all(after.get(k) == v for k, v in before.items())
            equal += same
            kept += whole_rows
            amounts.append(len(before))
            log.write(f"{kind.name}: killed at {moment:.2f} of {seconds:.2f} s with {len(before)} of {total} stored; "
                      f"resumed: exit {again.returncode}, equal {same}, stored rows as they were {whole_rows}\n")
            if not (same and whole_rows):
                lost += 1
                log.write(again.stderr + "\n")
                if again.returncode == 0:
                    log.write(f"expected {expected}\nfound {command.result(folder)}\n")
            log.flush()
            shutil.rmtree(folder, ignore_errors=True)
        table.append((kind.name, f"{seconds:.1f}", total, f"{min(amounts)} to {max(amounts)}",
                      f"{equal} of {args.points}", f"{kept} of {args.points}"))
        shutil.rmtree(work, ignore_errors=True)
    head = ("command", "seconds", "stored in all", "stored at the kill", "equal to the undisturbed run",
            "stored is as it was")
    show(table, head, out / "kills.md")
    return lost


def show(table, head, path):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in table]
    text = "\n".join(lines) + "\n"
    path.write_text(text)
    print(text, end="")


def disk_cases(kerf, work):
    """Name, files to begin with, what is done once with room to have earlier results, the command."""
    (work / "smooth.cu").write_text(SOURCE)
    (work / "smooth.toml").write_text(WORKLOAD)
    toml, tiny = str(work / "smooth.toml"), str(ROOT / "crates/kerf/tests/apps/tiny.cu")
    tuned = work / "tuned"
    quick = ["--tolerance", "1e-7", "--budget", "10", "--validate", "4"]

    def sources(at):
        for name in ("smooth.cu", "smooth.toml"):
            shutil.copy(work / name, at / name)

    def result(at):
        sources(at)
        if not tuned.exists():
            subprocess.run([kerf, "tune", toml, *quick, "--out", str(tuned)], check=True, capture_output=True,
                           env=environment(work / "cache"))
        shutil.copytree(tuned, at / "tuned")

    def result_of_here(at):
        # The result of sources that lie there, at a tolerance that lets something change.
        sources(at)
        loose = ["--tolerance", "1e-3", "--budget", "6", "--validate", "2", "--cost", "static"]
        subprocess.run([kerf, "tune", str(at / "smooth.toml"), *loose, "--out", str(at / "tuned")], check=True,
                       capture_output=True, env=environment(work / "cache"))

    nothing = lambda at: None  # noqa: E731
    return [
        ("run --save", nothing, lambda m: [kerf, "run", toml, "--reference", "--save", f"{m}/saved"], True),
        ("tune", nothing, lambda m: [kerf, "tune", toml, *quick, "--out", f"{m}/out", "--resume"], True),
        ("report", result, lambda m: [kerf, "report", f"{m}/tuned"], True),
        ("patch --apply", result_of_here, lambda m: [kerf, "patch", f"{m}/tuned", "--apply"], False),
        ("init", lambda at: shutil.copy(work / "smooth.cu", at), lambda m: [kerf, "init", f"{m}/smooth.cu", "--out", f"{m}/smooth.toml", "--force"], True),
        ("bundle", nothing, lambda m: [kerf, "bundle", toml, "--out", f"{m}/bundle"], False),
        ("hardround", nothing, lambda m: [kerf, "hardround", "exp", "--from", "1", "--to", "0x1.0008p+0", "--bits",
                                          "34", "--out", f"{m}/exp.wc", "--resume"], True),
        ("quantize train", nothing, lambda m: [kerf, "quantize", "train", "--data", "stripes", "--epochs", "1",
                                               "--batch", "64", "--out", f"{m}/net", "--resume"], True),
        ("cc", nothing, lambda m: [kerf, "cc", "-O1", "-o", f"{m}/tiny", tiny], True),
    ]


class Mount:
    def __init__(self, path, megabytes):
        self.path = path
        path.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)], check=True)

    def leave(self, kilobytes):
        """Fills it but for so much."""
        state = os.statvfs(self.path)
        free = state.f_bavail * state.f_bsize - kilobytes * 1024
        if free > 0:
            with (self.path / ".ballast").open("wb") as f:
                os.posix_fallocate(f.fileno(), 0, free)

    def read_only(self):
        subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True)

    def end(self):
        subprocess.run(["umount", str(self.path)], check=True)


def files(folder):
    """Contents of what counts: not logs, journals of the database and locks."""
    skip = (".ballast", "-wal", "-shm", ".lock")
    return {str(f.relative_to(folder)): digest(f) for f in sorted(folder.rglob("*"))
            if f.is_file() and not f.name.endswith(skip)}


def disk(args, out):
    lost, table = 0, []
    log = (out / "disk.txt").open("w")
    work = pathlib.Path(tempfile.mkdtemp(prefix="durability-"))
    env = environment(work / "cache")
    cases = []
    for name, begin, command, again in disk_cases(args.kerf, work):
        if args.only is None or name in args.only:
            cases.append((name, begin, command, False))
            if again:
                cases.append((f"{name}, again", begin, command, True))
    for name, begin, command, again in cases:
        told = succeeded = tries = 0
        wrong = []
        for room in [None, 0, 4, 16, 32, 64, 128, 256, 1024, 4096, 16384, 262144]:
            mount = Mount(work / "disk", 1024)
            at = work / "disk"
            try:
                begin(at)
                if again:
                    # An earlier result, which has to survive.
                    subprocess.run(command(at), env=env, capture_output=True)
                    if name.startswith("tune"):
                        shutil.rmtree(at / "out" / "references", ignore_errors=True)
                before = files(at)
                (mount.read_only if room is None else lambda: mount.leave(room))()
                ran = subprocess.run(command(at), env=env, capture_output=True, text=True)
                after = files(at)
                tries += 1
                gone = [f for f in before if f not in after]
                names = str(at) in ran.stderr
                clear = ran.returncode == 2 and names and "panicked" not in ran.stderr
                leftover = [f for f in after if f not in before and pathlib.Path(f).name.startswith((".tmp", ".tiny"))]
                changed = [f for f in before if f in after and after[f] != before[f]]
                good = (ran.returncode == 0 or clear) and not gone and not leftover
                # Not written to: then nothing may differ at all.
                good &= room is not None or after == before
                # Of a run that failed, a file is as it was, but for the database and the certificate, which grow.
                grows = (".sqlite", ".cert")
                good &= ran.returncode == 0 or all(f.endswith(grows) for f in changed)
                told += ran.returncode == 2
                succeeded += ran.returncode == 0
                what = "read-only" if room is None else f"{room} KiB free"
                last = " / ".join(ran.stderr.strip().splitlines()[-2:])
                log.write(f"{name}, {what}: exit {ran.returncode}, good {good}, gone {gone}, changed {changed}, "
                          f"left over {leftover}: {last}\n")
                log.flush()
                if not good:
                    wrong.append(what)
            finally:
                mount.end()
            if room is not None and ran.returncode == 0:
                break
        lost += len(wrong)
        table.append((name, tries, told, succeeded, ", ".join(wrong) or "none"))
    shutil.rmtree(work, ignore_errors=True)
    show(table, ("command", "tries", "told (exit 2)", "succeeded", "wrong"), out / "disk.md")
    return lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["kills", "disk"])
    parser.add_argument("--kerf", default=str(ROOT / "target/release/kerf"), type=os.path.abspath)
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="a command of the table")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    lost = {"kills": kills, "disk": disk}[args.what](args, args.out)
    print(f"{lost} wrong")
    sys.exit(min(lost, 1))


if __name__ == "__main__":
    main()
