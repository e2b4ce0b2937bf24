"""The package says the types of its functions, in words that the oldest Python it is for understands."""

import ast
import glob
import os
import unittest

import kerf

FOLDER = os.path.dirname(kerf.__file__)


def without_types(tree):
    """Functions with a parameter or a result that has no type."""
    for f in ast.walk(tree):
        if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)):
            a = f.args
            given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
            bare = [x.arg for x in given if x.annotation is None and x.arg not in ("self", "cls")]
            if bare or f.returns is None:
                yield f.name, bare


class Types(unittest.TestCase):
    def test_every_function_says_its_types(self):
        self.assertTrue(os.path.exists(os.path.join(FOLDER, "py.typed")))
        files = [f for f in glob.glob(os.path.join(FOLDER, "**", "*.py"), recursive=True) if "_install" not in f]
        self.assertGreater(len(files), 30)
        for path in files:
            with open(path, encoding="utf-8") as f:
                tree = ast.parse(f.read(), path, feature_version=(3, 9))
            self.assertEqual(list(without_types(tree)), [], path)
        self.assertEqual(list(without_types(ast.parse("def f(x): pass"))), [("f", ["x"])])


if __name__ == "__main__":
    unittest.main()
