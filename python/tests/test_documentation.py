"""The checks of the documentation find what they are for."""

import importlib.util
import os
import tempfile
import types
import unittest

from .common import ROOT


def script(name):
    path = os.path.join(ROOT, "scripts", name + ".py")
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Book(unittest.TestCase):
    def faults(self, pages):
        book = script("book")
        with tempfile.TemporaryDirectory() as d:
            book.ROOT = d
            plain = {n: "" for n in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "python/README.md"]}
            for path, text in {**plain, **pages}.items():
                full = os.path.join(d, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w") as f:
                    f.write(text)
            found = []
            book.check_links(found)
            book.check_blank_lines(found)
            if "docs/howto/troubleshooting.md" in pages:
                book.check_messages(found)
            return found

    def test_good_pages_have_no_faults(self):
        good = {
            "docs/a/b.md": "# Head, and `code`\n[c](../c.md#one-two) ```[x](gone.md)```\n\n- a list\nthat goes on\n- for long\n",
            "docs/c.md": "## One two\n\n| a | table |\n|---|---|\n",
        }
        self.assertEqual(self.faults(good), [])

    def test_bad_ones_have(self):
        for text, word in [
            ("[x](gone.md)", "gone.md"),
            ("[x](#nothing)", "#nothing"),
            ("A paragraph.\n- no list for MkDocs\n", "blank line"),
            ("A paragraph.\n| no | table |\n", "blank line"),
        ]:
            self.assertTrue(any(word in f for f in self.faults({"docs/a.md": text})), text)
        quoted = {
            "docs/howto/troubleshooting.md": "### `it is … broken`\n### `it was … whole`\n",
            "crates/x/src/lib.rs": '#[error("it is {0} broken")]',
        }
        told = [f for f in self.faults(quoted) if "no message" in f]
        self.assertEqual(len(told), 2, told)

    def test_links_that_leave_the_book_become_names(self):
        links = script("book_links")
        page = types.SimpleNamespace(file=types.SimpleNamespace(src_uri="howto/a.md"))
        text = "[b](b.md) [record](../../bench/runs/r/README.md#x) [y-1](../../bench/runs/2026-y-1/README.md) [c](../../crates/c.rs) [web](https://a.b/c)"
        self.assertEqual(
            links.on_page_markdown(text, page, None, None),
            "[b](b.md) record (`bench/runs/r`) `2026-y-1` c (`crates/c.rs`) [web](https://a.b/c)",
        )


class Figures(unittest.TestCase):
    def test_numbers_and_blocks_are_those_of_the_records(self):
        rewritten = script("figures").rewritten
        faults = []
        old = "gain <!--= mean -->9<!-- -->x\n<!-- figures: table -->\nold\n<!-- end -->\n"
        new = "gain <!--= mean -->1.5<!-- -->x\n<!-- figures: table -->\n| a |\n<!-- end -->\n"
        self.assertEqual(rewritten(old, {"table": "| a |\n"}, {"mean": "1.5"}, faults, "x.md"), new)
        self.assertEqual(faults, [])
        rewritten("<!--= gone -->9<!-- -->", {}, {}, faults, "x.md")
        self.assertIn("gone", faults[0])

    def test_tables_of_speedups_are_read(self):
        read = script("figures").speedups
        text = (
            "lud        1e-3  1.113 [1.112, 1.113]        1.05e-07     2/2    0.95     8\n"
            "lud        1e-6  as at 1e-3: its error is within\n"
            "box        1e-3  tie 1.002 [0.999, 1.013]\n"
            "flat       1e-3  unchanged\n"
            "one        1e-3  1.058 measured              4.08e-04     2/2    0.96    24\n"
            "late       1e-3  not ended\n"
        )
        self.assertEqual(read(text), {"lud": (1.113, 1.112, 1.113), "box": None, "flat": None, "one": (1.058,) * 3})


class Readme(unittest.TestCase):
    def test_commands_are_found(self):
        readme = script("test-readme")
        text = (
            "```sh\nnot this\n```\n<!-- ci: run -->\n```sh\ncd x\nkerf init\n```\n"
            "<!-- ci: run -->\n```\n$ kerf doctor\nfound clang\n$ kerf study list | head\n```\n"
        )
        self.assertEqual(
            readme.commands(text), [(6, "cd x\nkerf init"), (11, "kerf doctor"), (13, "kerf study list | head")]
        )

    def test_outputs_are_compared(self):
        missing = script("test-readme").missing
        printed = "first 1.00x\n  a\n  b\nlast, error 8.50e-9\n"
        self.assertIsNone(missing("first 1.05x\n...\nlast, error 8.1e-9\n", printed))
        self.assertIsNone(missing("  a\n  b\n", printed))
        self.assertEqual(missing("first 1.3x\n", printed), "first 1.3x")
        self.assertEqual(missing("first 1.00x\n  b\n", printed), "  b")
        self.assertEqual(missing("  b\n...\n  a\n", printed), "  a")


if __name__ == "__main__":
    unittest.main()
