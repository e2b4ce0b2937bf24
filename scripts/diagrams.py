#!/usr/bin/env python3
"""The diagrams of the book's explanations: boxes on a grid, and arrows between them.

    scripts/diagrams.py            writes docs/figures/*.svg
    scripts/diagrams.py --check    fails where one is out of date
"""
import pathlib
import sys
from html import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
COLOURS = {"data": "#eef3f8", "step": "#fff4e0", "given": "#e6f4ea", "result": "#f3e8f5"}
STROKE = {"data": "#4a6b8a", "step": "#b9770e", "given": "#3d8b50", "result": "#7d4a88"}
LINE = 16  # pixels from one line of text to the next


class Diagram:
    def __init__(self, width, height, title):
        self.size, self.title, self.boxes, self.parts = (width, height), title, {}, []

    def box(self, name, x, y, w, h, lines, kind="data"):
        """A box whose first line is bold."""
        self.boxes[name] = (x, y, w, h)
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="5" fill="{COLOURS[kind]}" stroke="{STROKE[kind]}"/>')
        top = y + h / 2 - (len(lines) - 1) * LINE / 2 + 4
        for i, line in enumerate(lines):
            weight = ' font-weight="bold"' if i == 0 else ""
            self.parts.append(f'<text x="{x + w / 2:g}" y="{top + i * LINE:g}" text-anchor="middle"{weight}>{escape(line)}</text>')

    def text(self, x, y, line, anchor="start"):
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="#444" font-style="italic">{escape(line)}</text>')

    def path(self, points, label=None, at=None, anchor="middle"):
        """An arrow through points."""
        steps = " L".join(f"{x:g} {y:g}" for x, y in points)
        self.parts.append(f'<path d="M{steps}" fill="none" stroke="#333" marker-end="url(#end)"/>')
        if label:
            x, y = at or ((points[0][0] + points[-1][0]) / 2, (points[0][1] + points[-1][1]) / 2 - 6)
            self.text(x, y, label, anchor)

    def right(self, a, b, label=None):
        (x, y, w, h), (to, y2, _, h2) = self.boxes[a], self.boxes[b]
        self.path([(x + w, y + h / 2), (to - 2, y2 + h2 / 2)], label)

    def down(self, a, b, label=None, at=None, anchor="start"):
        (x, y, w, h), (x2, to, w2, _) = self.boxes[a], self.boxes[b]
        self.path([(x + w / 2, y + h), (x2 + w2 / 2, to - 2)], label, at, anchor)

    def svg(self):
        w, h = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" '
            'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" role="img">\n'
            f"<title>{escape(self.title)}</title>\n"
            '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
            '<path d="M0 0 L8 4 L0 8 z" fill="#333"/></marker></defs>\n'
            f'<rect width="{w}" height="{h}" fill="#fff"/>\n'
        )
        return head + "\n".join(self.parts) + "\n</svg>\n"


def overview():
    d = Diagram(760, 210, "What goes into Kerf and what comes out")
    d.box("kernel", 10, 10, 150, 50, ["Kernel", "CUDA, OpenCL, PTX, IR"], "given")
    d.box("inputs", 10, 80, 150, 50, ["Inputs", "sizes, ranges, launch"], "given")
    d.box("tolerance", 10, 150, 150, 50, ["Tolerance", "e.g. rel_l2 at most 1e-5"], "given")
    d.box("search", 250, 20, 220, 75, ["Search", "formats, math calls, shapes;", "error of every try is measured"], "step")
    d.box("check", 250, 120, 220, 75, ["Validation", "other inputs; undefined behaviour;", "times again"], "step")
    d.box("plan", 570, 10, 180, 50, ["Plan", "what changes, and why"], "result")
    d.box("code", 570, 80, 180, 50, ["Tuned code", "patch of the source, PTX"], "result")
    d.box("evidence", 570, 150, 180, 50, ["Evidence", "errors, times, intervals"], "result")
    for a in ("kernel", "inputs", "tolerance"):
        x, y, w, h = d.boxes[a]
        d.path([(x + w, y + h / 2), (205, y + h / 2), (205, 57), (248, 57)])
    d.down("search", "check")
    for b in ("plan", "code", "evidence"):
        x, y, w, h = d.boxes[b]
        d.path([(470, 157), (520, 157), (520, y + h / 2), (x - 2, y + h / 2)])
    return d


def plan():
    d = Diagram(800, 330, "How a plan is applied")
    d.box("source", 10, 20, 120, 50, ["Source", ".cu .cl .ptx .ll"], "given")
    d.box("compiled", 180, 20, 150, 50, ["Compiled module", "clang, not optimised"])
    d.box("prepared", 380, 20, 170, 50, ["Prepared module", "SSA; sites numbered"])
    d.box("changed", 380, 145, 170, 50, ["Changed module", "verified"])
    d.box("finished", 380, 270, 170, 50, ["Finished module", "libdevice linked, O3"])
    d.box("plan", 600, 80, 180, 50, ["Plan (JSON)", "formats by site number"], "given")
    d.box("passes", 10, 100, 320, 140, ["Passes, in this order", "1  rewritten expressions", "2  math variants", "3  formats of sites, with conversions",
          "4  formats of memory", "5  versions for some warps", "6  elements a thread"], "step")
    d.box("ptx", 600, 235, 180, 36, ["PTX: GPU"], "result")
    d.box("x86", 600, 287, 180, 36, ["x86: CPU executor"], "result")
    d.right("source", "compiled", None)
    d.right("compiled", "prepared")
    d.down("prepared", "changed", "plan applied", (474, 112))
    d.path([(600, 105), (560, 105), (560, 125), (470, 125)])
    d.path([(330, 170), (378, 170)])
    d.down("changed", "finished", "the last rounding is decided", (456, 236), "end")
    d.path([(550, 288), (575, 288), (575, 253), (598, 253)])
    d.path([(550, 302), (598, 302)])
    return d


def reference():
    d = Diagram(780, 300, "How the reference works")
    d.text(10, 20, "the program, as it is")
    d.text(10, 165, "its shadow, about 106 bits")
    for row, y in (("v", 35), ("s", 180)):
        shadow = row == "s"
        d.box(row + "in", 10, y, 110, 60, ["Input", "same numbers" if shadow else "x = 1/3 in f64"], "given")
        d.box(row + "mul", 170, y, 120, 60, ["x * x", "double-double" if shadow else "rounded to 53 bits"], "step")
        d.box(row + "cvt", 340, y, 120, 60, ["to float", "unchanged" if shadow else "rounded to 24 bits"], "step")
        d.box(row + "st", 510, y, 120, 60, ["store", "entry beside it" if shadow else "4 bytes"], "step")
        for a, b in (("in", "mul"), ("mul", "cvt"), ("cvt", "st")):
            d.right(row + a, row + b)
    d.box("compare", 670, 95, 100, 75, ["Compare", "value with", "its shadow"], "result")
    d.path([(630, 65), (720, 65), (720, 93)])
    d.path([(630, 210), (720, 210), (720, 172)])
    d.path([(230, 95), (230, 178)], "control flow follows the program", (236, 128), "start")
    d.text(10, 275, "A comparison that exact arithmetic would decide the other way is counted by line and reported, not followed.")
    return d


def guided():
    d = Diagram(780, 320, "How guided search decides")
    d.box("problem", 10, 10, 190, 66, ["Problem", "variables: buffers, operations,", "calls, shapes; tolerance"], "given")
    d.box("prior", 10, 110, 190, 66, ["Before the first run", "local rounding errors counted,", "times predicted"], "given")
    d.box("error", 270, 10, 220, 66, ["Model of errors", "contribution of each variable,", "with uncertainty"])
    d.box("time", 270, 110, 220, 66, ["Model of times", "gain of each variable,", "with uncertainty"])
    d.box("choose", 560, 50, 210, 82, ["Next assignment", "largest expected gain x", "probability of being", "within the tolerance"], "step")
    d.box("run", 560, 190, 210, 50, ["Run it", "error and time are facts now"], "step")
    d.box("end", 560, 265, 210, 45, ["End: best measured plan"], "result")
    d.right("problem", "error")
    d.right("prior", "time")
    d.path([(200, 130), (235, 130), (235, 55), (268, 55)])
    d.path([(490, 43), (525, 43), (525, 80), (558, 80)])
    d.path([(490, 143), (525, 143), (525, 100), (558, 100)])
    d.down("choose", "run")
    d.path([(558, 215), (380, 215), (380, 178)], "every run corrects both models", (376, 232), "middle")
    d.path([(770, 110), (777, 110), (777, 288), (771, 288)])
    d.text(548, 284, "nothing promises", "end")
    d.text(548, 300, "0.3 % of the time", "end")
    return d


def prediction():
    d = Diagram(790, 330, "How a prediction comes about")
    d.box("run", 10, 10, 190, 66, ["Counting run", "how often each block runs,", "divergence, addresses"], "given")
    d.box("asm", 10, 110, 190, 66, ["Machine code", "ptxas: stalls, barriers,", "registers"], "given")
    d.box("profile", 10, 210, 190, 66, ["Device profile", "latencies, throughputs,", "caches, limits"], "given")
    d.box("exec", 270, 10, 200, 66, ["Executions", "of each machine instruction,", "by its block"], "step")
    d.box("sim", 270, 110, 200, 66, ["One scheduler", "its resident warps, clock", "by clock, each loop"], "step")
    d.box("mem", 270, 210, 200, 66, ["Memory", "bytes through L1, L2,", "device memory"], "step")
    d.box("sum", 540, 110, 230, 66, ["Time of a launch", "2-norm of both; multiprocessor", "with the most work decides"], "step")
    d.box("out", 540, 230, 230, 50, ["Predicted time", "and what limits it"], "result")
    d.right("run", "exec")
    d.right("asm", "sim")
    d.right("profile", "mem")
    d.down("exec", "sim")
    d.path([(200, 60), (235, 60), (235, 228), (268, 228)])
    d.path([(200, 225), (220, 225), (220, 160), (268, 160)])
    d.right("sim", "sum")
    d.path([(470, 243), (505, 243), (505, 160), (538, 160)])
    d.down("sum", "out")
    d.text(10, 315, "Weights that neither a probe nor a document gives are fitted once per device, never per kernel.")
    return d


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    FIGURES.mkdir(exist_ok=True)
    for name, make in [("overview", overview), ("plan", plan), ("reference", reference), ("guided", guided), ("prediction", prediction)]:
        file, text = FIGURES / f"{name}.svg", make().svg()
        if check and (not file.exists() or file.read_text() != text):
            stale.append(f"error: docs/figures/{name}.svg is out of date; scripts/diagrams.py writes it")
        elif not check:
            file.write_text(text)
    print("\n".join(stale), file=sys.stderr, end="\n" if stale else "")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
