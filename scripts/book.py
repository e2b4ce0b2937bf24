#!/usr/bin/env python3
"""The book under docs: pages made from doc comments, links that resolve, and the site that MkDocs makes of them.

    scripts/book.py            writes metrics.md, passes.md and strategies.md of docs/reference from the crates' doc comments,
                               and builds the site into target/book
    scripts/book.py --check    fails if that would change a page, if a link or an anchor of any document leads nowhere, if a
                               page is not in mkdocs.yml, if troubleshooting.md quotes a message that Kerf does not have, or if
                               a diagram, figure or number is not what scripts/diagrams.py and scripts/figures.py make;
                               builds the site, where a warning is an error

MkDocs is in .kerf/python, where scripts/setup.sh --dev puts it.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REFERENCE = "docs/reference"
MADE = "<!-- Made by scripts/book.py from doc comments: change those, and run it again. -->\n\n"

# Files that hold what others share, not a thing of their own.
PARTS = {
    "crates/kerf-search/src/guided": {"linear"},
    "crates/kerf-search/src/strategies": {"existing", "genetic", "listed", "start", "walk"},
    "crates/kerf-pass/src": {"lib", "plan", "site_format", "formats", "convert", "registers", "at_line", "block_refusal", "format_refusal"},
}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def rust(folder):
    """Rust files of a folder, in order."""
    names = sorted(n[:-3] for n in os.listdir(os.path.join(ROOT, folder)) if n.endswith(".rs"))
    return [n for n in names if n not in PARTS.get(folder, set())]


def module_docs(path):
    """The `//!` text of a file, as Markdown for readers: links into the code become names."""
    lines = []
    for line in read(path).splitlines():
        if not line.startswith("//!"):
            break
        lines.append(line[4:] if line.startswith("//! ") else line[3:])
    return plain("\n".join(lines).strip())


def plain(text):
    text = re.sub(r"\[`([^`\]]+)`\]\([^)]*\)", r"`\1`", text)
    return re.sub(r"\[(`[^`\]]+`)\](?!\()", r"\1", text)


def section(path, name, level=2):
    """A heading from a name, the docs, and where they come from."""
    docs = module_docs(path)
    return f"{'#' * level} {name}\n\n{docs}\n\n<small>`{path}`</small>\n\n"


def strategies():
    folder = "crates/kerf-search/src/strategies"
    out = "# Strategies\n\n" + MADE
    out += (
        "`--strategy NAME` chooses one; [Search](search.md) has a table of what each needs and how good it was. All of "
        "them give the fastest assignment whose *measured* error was within the tolerance, and none executes an assignment "
        "twice.\n\n"
    )
    for name in rust(folder):
        out += section(f"{folder}/{name}.rs", name.replace("_", "-"))
    out += "## What guided believes\n\n"
    for name in rust("crates/kerf-search/src/guided"):
        out += section(f"crates/kerf-search/src/guided/{name}.rs", name.replace("_", " ").capitalize(), 3)
    out += "## Launch shapes\n\n"
    for name in ["tuners", "space", "narrow"]:
        out += section(f"crates/kerf-tune/src/launch/{name}.rs", name.capitalize(), 3)
    return out


def metrics():
    out = "# Metrics\n\n" + MADE + module_docs("crates/kerf-num/src/metrics.rs") + "\n\n"
    text = read("crates/kerf-num/src/metrics/metric.rs")
    body = re.search(r"pub enum Metric \{(.*?)^\}", text, re.S | re.M).group(1)
    names = dict(re.findall(r'Metric::(\w+) => "(\w+)"', text))
    out += "| `--metric` | what it is |\n|---|---|\n"
    for docs, variant in re.findall(r"((?:^\s*///.*\n)+)(?:\s*#\[[^\n]*\n)*\s*(\w+),", body, re.M):
        about = " ".join(l.strip()[3:].strip() for l in docs.strip().splitlines())
        out += f"| `{names[variant]}` | {plain(about)} |\n"
    out += "\n"
    for name in ["acceptance", "quantile", "ssim", "scatter", "squares"]:
        out += section(f"crates/kerf-num/src/metrics/{name}.rs", name)
    return out


def passes():
    out = "# Passes\n\n" + MADE
    out += "A program is compiled, prepared, changed by a plan, and finished. These are the steps, one a file.\n\n## The frame\n\n"
    for name in ["prepare", "fuse", "finish"]:
        out += section(f"crates/kerf-ir/src/{name}.rs", name.capitalize(), 3)
    out += "## Passes\n\n"
    for name in rust("crates/kerf-pass/src"):
        out += section(f"crates/kerf-pass/src/{name}.rs", name.replace("_", " ").capitalize(), 3)
    return out


def slug(heading):
    """The anchor of a heading, as GitHub and MkDocs make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[^\w\- ]", "", text.strip().lower())
    return text.replace(" ", "-")


def without_code(text):
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$", "", read(path), flags=re.M | re.S)
    return {slug(h) for h in re.findall(r"^#+ (.*)$", text, re.M)}


def documents():
    """Markdown files whose links are checked."""
    found = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "python/README.md"]
    for top in ["docs", "examples", "bench"]:
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            found += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files if f.endswith(".md")]
    return sorted(found)


def check_links(faults):
    for path in documents():
        for m in re.finditer(r"!?\[[^\]]*\]\(([^)\s]+)\)", without_code(read(path))):
            to, _, anchor = m.group(1).partition("#")
            if re.match(r"[a-z]+:", to):
                continue
            file = os.path.normpath(os.path.join(os.path.dirname(path), to)) if to else path
            if not os.path.exists(os.path.join(ROOT, file)):
                faults.append(f"{path}: a link leads to {m.group(1)}, which is not there")
            elif anchor and file.endswith(".md") and anchor not in anchors(file):
                faults.append(f"{path}: {file} has no heading #{anchor}")


def check_blank_lines(faults):
    """A list or table that follows a paragraph without a blank line is one for GitHub, and not for MkDocs."""
    start = re.compile(r"^(?:[-*] |\d+\. |\|)")
    for path in documents():
        if not path.startswith("docs/"):
            continue
        before, fenced = "", False
        for number, line in enumerate(read(path).splitlines(), 1):
            fenced ^= line.startswith(("```", "~~~"))
            paragraph = before.strip() and not start.match(before) and not before.startswith((" ", "#", "<", "`", "~"))
            if not fenced and start.match(line) and paragraph and not in_list(path, number):
                faults.append(f"{path}:{number}: a list or table needs a blank line before it")
            before = line


def in_list(path, number):
    """Whether the lines before are a list's: its text may go on at the margin."""
    for line in reversed(read(path).splitlines()[: number - 1]):
        if not line.strip():
            return False
        if re.match(r"[-*] |\d+\. ", line):
            return True
    return False


def check_made(faults):
    """Diagrams, and figures and numbers of results."""
    for name in ["diagrams.py", "figures.py"]:
        p = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", name), "--check"], capture_output=True, text=True)
        if p.returncode != 0:
            faults.append(p.stderr.strip())


def build(faults):
    """The site, where every warning of MkDocs is an error."""
    python = os.path.join(ROOT, ".kerf/python/bin/python")
    if not os.path.exists(python) or subprocess.run([python, "-c", "import mkdocs"], capture_output=True).returncode != 0:
        faults.append("MkDocs is not in .kerf/python; scripts/setup.sh --dev installs it")
        return
    p = subprocess.run([python, "-m", "mkdocs", "build", "--strict", "--quiet"], cwd=ROOT, capture_output=True, text=True)
    if p.returncode != 0:
        faults.append((p.stdout + p.stderr).strip())


def check_messages(faults):
    """Every message that troubleshooting.md quotes is one of Kerf's."""
    code = ""
    for top in ["crates", "python/src"]:
        for folder, dirs, files in os.walk(os.path.join(ROOT, top)):
            dirs[:] = [d for d in dirs if d not in ("tests", "__pycache__")]
            for f in files:
                if f.endswith((".rs", ".py")):
                    with open(os.path.join(folder, f), encoding="utf-8") as text:
                        code += text.read()
    for message in re.findall(r"^### `(.*)`$", read("docs/howto/troubleshooting.md"), re.M):
        for part in message.split("…"):
            if part.strip(" .:`") and part.strip() not in code:
                faults.append(f"troubleshooting.md: no message of Kerf's has {part.strip()!r}")


def main():
    check = "--check" in sys.argv[1:]
    faults = []
    for name, make in [("strategies", strategies), ("metrics", metrics), ("passes", passes)]:
        path = f"{REFERENCE}/{name}.md"
        text = make().rstrip("\n") + "\n"
        there = read(path) if os.path.exists(os.path.join(ROOT, path)) else None
        if text != there:
            if check:
                faults.append(f"{path} is not what the doc comments say; run scripts/book.py")
            else:
                with open(os.path.join(ROOT, path), "w", encoding="utf-8") as f:
                    f.write(text)
                print(path)
    if check:
        check_links(faults)
        check_blank_lines(faults)
        check_messages(faults)
        check_made(faults)
    build(faults)
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(documents())} documents: links and quoted messages resolve; target/book/index.html" if check else "target/book/index.html")


if __name__ == "__main__":
    main()
