"""The checks of the documentation find what they are for."""

import importlib.util
import os
import tempfile
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
            for path, text in {**plain, "docs/book/src/SUMMARY.md": "- [A](a.md)\n", **pages}.items():
                full = os.path.join(d, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w") as f:
                    f.write(text)
            found = []
            book.check_links(found)
            if "docs/book/src/troubleshooting.md" in pages:
                book.check_messages(found)
            return found

    def test_good_pages_have_no_faults(self):
        good = {
            "docs/b.md": "# Head, and `code`\n[c](c.md#one-two) ```[x](gone.md)```\n",
            "docs/c.md": "## One two\n",
            "docs/book/src/a.md": "{{#include ../../b.md}}\n",
        }
        self.assertEqual(self.faults(good), [])

    def test_bad_ones_have(self):
        a = "docs/book/src/a.md"
        for text, word in [
            ("[x](gone.md)", "gone.md"),
            ("[x](#nothing)", "#nothing"),
            ("{{#include gone.md}}", "includes docs/book/src/gone.md"),
        ]:
            self.assertTrue(any(word in f for f in self.faults({a: text})), text)
        self.assertTrue(any("not in SUMMARY" in f for f in self.faults({a: "", "docs/book/src/b.md": ""})))
        quoted = {
            a: "",
            "docs/book/src/troubleshooting.md": "### `it is … broken`\n### `it was … whole`\n",
            "crates/x/src/lib.rs": '#[error("it is {0} broken")]',
        }
        told = [f for f in self.faults(quoted) if "no message" in f]
        self.assertEqual(len(told), 2, told)


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


if __name__ == "__main__":
    unittest.main()
