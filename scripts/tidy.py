#!/usr/bin/env python3
"""The shape of the code, counted: import cycles, long functions, names that say nothing or occur twice.

    scripts/tidy.py             the counts, and each finding beyond those that scripts/tidy.json admits
    scripts/tidy.py --list WHAT all findings of one kind

Counts may fall, not rise: scripts/tidy.json holds the admitted ones, and `--admit` writes them anew after a fall.
Test modules (`#[cfg(test)]`, tests.rs, *_tests.rs, tests/) are left out.
"""
import argparse
import collections
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ADMITTED = ROOT / "scripts" / "tidy.json"
LONG = 100  # lines of a function, at most
PARAMETERS = 7  # of a function, at most; `extern "C"` functions have those of a binary interface (CUDA's, or what compiled code passes)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def code_only(text):
    """The text without comments and literals, line by line as it was."""
    pattern = r'//[^\n]*|/\*.*?\*/|\bb?r(#+)".*?"\1|\bb?r"[^"]*"|b?"(?:\\.|[^"\\])*"|\'(?:\\.[^\']*|[^\\\'\n])\''
    return re.sub(pattern, blank, text, flags=re.S)


def closing(text, start):
    """Where the block that opens at `start` ends."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0 and text[i] == "}":
            return i
    return len(text)


def without_tests(text):
    for m in reversed(list(re.finditer(r"#\[cfg\(test\)\]\s*(?:pub\s+)?mod\s+\w+\s*(\{|;)", text))):
        end = closing(text, m.start(1)) + 1 if m.group(1) == "{" else m.end()
        text = text[: m.start()] + re.sub(r"[^\n]", " ", text[m.start() : end]) + text[end:]
    return text


class Source:
    def __init__(self, path):
        self.path = path
        self.crate = path.relative_to(ROOT / "crates").parts[0]
        self.text = without_tests(code_only(path.read_text()))
        parts = list(path.relative_to(ROOT / "crates" / self.crate / "src").with_suffix("").parts)
        self.module = tuple(parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts)

    def place(self, offset):
        return f"{self.path.relative_to(ROOT)}:{self.text.count(chr(10), 0, offset) + 1}"

    def functions(self):
        """Name, lines and parameters of each function that has a body."""
        for m in re.finditer(r"\bfn\s+(\w+)", self.text):
            body = re.compile(r"[{;]").search(self.text, self.end_of_signature(m.end()))
            if not body or body.group(0) == ";":
                continue
            end = closing(self.text, body.start())
            lines = self.text.count("\n", m.start(), end) + 1
            foreign = re.search(r"\bextern\s+(?:\S+\s+)?$", self.text[max(0, m.start() - 40) : m.start()])
            yield m.group(1), lines, 0 if foreign else self.parameters(m.end()), self.place(m.start())

    def end_of_signature(self, start):
        depth = 0
        for i in range(start, len(self.text)):
            c = self.text[i]
            depth += (c in "([") - (c in ")]")
            if depth == 0 and c in "{;":
                return i
        return len(self.text)

    def parameters(self, start):
        opening = self.text.find("(", start)
        depth, angle, count, seen = 0, 0, 0, False
        for i in range(opening, len(self.text)):
            c = self.text[i]
            depth += (c in "([{") - (c in ")]}")
            angle += (c == "<") - (c == ">" and self.text[i - 1] not in "-=")
            if depth == 0:
                return count + seen
            if c == "," and depth == 1 and angle <= 0:
                count, seen = count + 1, False
            elif not c.isspace() and not (c == "(" and depth == 1):
                seen = True
        return count


def imports(s, modules):
    """Modules of its crate that a file names by `crate::` and `super::` paths."""
    paths = set()
    for m in re.finditer(r"\b(crate|super(?:::super)*)((?:::\w+)*)(::\{)?", s.text):
        if m.group(1) == "crate":
            base = ()
        else:
            up = m.group(1).count("super")
            base = s.module[: len(s.module) - up] if up <= len(s.module) else ()
        path = base + tuple(p for p in m.group(2).split("::") if p)
        names = [()]
        if m.group(3):
            end = closing(s.text, m.end() - 1)
            names = [(n,) for n in re.findall(r"(?<![:\w])(\w+)", s.text[m.end() : end])]
        paths.update(path + n for n in names)
    for p in paths:
        while p and p not in modules:
            p = p[:-1]
        if p != s.module and p:
            yield p


def cycles(sources):
    """Groups of modules of a crate that import each other, beyond parents and children."""
    by_crate = collections.defaultdict(list)
    for s in sources:
        by_crate[s.crate].append(s)
    for crate, files in sorted(by_crate.items()):
        modules = {s.module for s in files}
        related = lambda a, b: a[: len(b)] == b or b[: len(a)] == a
        edges = {s.module: {p for p in imports(s, modules) if not related(p, s.module)} for s in files}
        for group in components(edges):
            if len(group) > 1:
                yield f"{crate}: {', '.join('::'.join(m) for m in sorted(group))}"


def components(edges):
    """Strongly connected components (Tarjan, without recursion)."""
    index, low, on, stack, out = {}, {}, set(), [], []
    for root in sorted(edges):
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            for n in rest:
                if n not in edges:
                    continue
                if n not in index:
                    index[n] = low[n] = len(index)
                    stack.append(n)
                    on.add(n)
                    work.append((n, iter(sorted(edges[n]))))
                    break
                if n in on:
                    low[node] = min(low[node], index[n])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on.discard(group[-1])
                    out.append(group)
    return out


def public_types(sources):
    where = collections.defaultdict(list)
    for s in sources:
        if s.crate == "kerf":
            continue
        for m in re.finditer(r"\bpub\s+(?:struct|enum|trait|type|union)\s+(\w+)", s.text):
            where[m.group(1)].append(s.place(m.start()))
    return where


def against_the_order():
    """Dependencies on a crate that stands below, in the table of ARCHITECTURE.md."""
    order = re.findall(r"^\| (kerf[a-z-]*) \|", (ROOT / "ARCHITECTURE.md").read_text(), re.M)
    manifests = sorted((ROOT / "crates").glob("*/Cargo.toml"))
    for m in manifests:
        if m.parent.name not in order:
            yield f"{m.parent.name} is not in the table of ARCHITECTURE.md"
    place = {crate: i for i, crate in enumerate(order)}
    for m in manifests:
        own = re.search(r"^\[dependencies\]\n(.*?)(?=^\[|\Z)", m.read_text(), re.M | re.S)
        for to in re.findall(r"^(kerf[a-z-]*)\b", own.group(1) if own else "", re.M):
            if place.get(to, -1) >= place.get(m.parent.name, len(order)):
                yield f"{m.parent.name} imports {to}, which stands below it"


def forgotten_tests():
    """Files of a crate's tests that tests/all.rs does not name, so that nothing compiles them."""
    for listed in sorted((ROOT / "crates").glob("*/tests/all.rs")):
        named = set(re.findall(r"^mod (\w+);", listed.read_text(), re.M)) | {"all"}
        own = re.findall(r'^\[\[test\]\]\nname = "(\w+)"', (listed.parent.parent / "Cargo.toml").read_text(), re.M)
        for f in sorted(listed.parent.glob("*.rs")):
            if f.stem not in named.union(own):
                yield str(f.relative_to(ROOT))


def findings(sources):
    found = collections.defaultdict(list)
    for s in sources:
        for name, lines, parameters, place in s.functions():
            if lines > LONG:
                found["long functions"].append(f"{place}: {name} has {lines} lines")
            if parameters > PARAMETERS:
                found["functions of many parameters"].append(f"{place}: {name} has {parameters}")
            if name in ("of", "go", "next_of"):
                found["functions called of"].append(f"{place}: {name}")
        for m in re.finditer(r"Result<(?:[^;{}]|;\s*\w+\])*?,\s*String>|\btype Err = String\b", s.text):
            found["errors that are strings"].append(s.place(m.start()))
    found["test files in no program"] = list(forgotten_tests())
    found["import cycles"] = list(cycles(sources))
    found["crates against their order"] = list(against_the_order())
    for name, places in sorted(public_types(sources).items()):
        if len(places) > 1:
            found["public types of one name"].append(f"{name}: {', '.join(places)}")
    return found


KINDS = ["crates against their order", "test files in no program", "import cycles", "long functions", "functions of many parameters", "functions called of", "public types of one name", "errors that are strings"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--list", choices=KINDS)
    p.add_argument("--admit", action="store_true")
    o = p.parse_args()
    is_test = lambda f: f.stem == "tests" or f.stem.endswith("_tests") or "tests" in f.relative_to(ROOT).parts
    sources = [Source(f) for f in sorted((ROOT / "crates").glob("*/src/**/*.rs")) if not is_test(f)]
    found = findings(sources)
    if o.list:
        print("\n".join(found[o.list]))
        return 0
    counts = {k: len(found[k]) for k in KINDS}
    admitted = json.loads(ADMITTED.read_text()) if ADMITTED.exists() else {}
    if o.admit:
        ADMITTED.write_text(json.dumps(counts, indent=1) + "\n")
        admitted = counts
    status = 0
    for k in KINDS:
        print(f"{counts[k]:5} {k} ({admitted.get(k, 0)} admitted)")
        if counts[k] > admitted.get(k, 0):
            status = 1
    if status:
        print("error: a count has risen; --list KIND names what it counts", file=sys.stderr)
    lines = collections.Counter()
    for s in sources:
        lines[s.crate] += sum(1 for l in s.text.splitlines() if l.strip())
    print(f"{sum(lines.values()):5} lines of code without tests, comments and blank lines")
    for crate, n in sorted(lines.items(), key=lambda i: -i[1]):
        print(f"{n:9} {crate}")
    return status


sys.exit(main())
