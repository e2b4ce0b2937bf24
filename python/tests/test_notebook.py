"""Progress: to a function, and into the output of a notebook's cell."""

import sys
import types
import unittest
import unittest.mock

import numpy as np

import kerf
from kerf import _notebook

from .common import MIXED


class Display:
    """What is shown of IPython's, noted."""

    def __init__(self, in_kernel):
        self.shown, self.updated = [], []
        shell = types.SimpleNamespace(kernel=object()) if in_kernel else types.SimpleNamespace()
        self.ipython = types.ModuleType("IPython")
        self.ipython.get_ipython = lambda: shell
        self.display = types.ModuleType("IPython.display")
        self.display.HTML = str
        self.display.display = self._show

    def _show(self, html, display_id):
        self.shown.append(html)
        return types.SimpleNamespace(update=self.updated.append)

    def __enter__(self):
        modules = {"IPython": self.ipython, "IPython.display": self.display}
        self._patch = unittest.mock.patch.dict(sys.modules, modules)
        self._patch.start()
        return self

    def __exit__(self, *_):
        self._patch.stop()


class Progress(unittest.TestCase):
    def tune(self, **more):
        x = np.random.default_rng(7).uniform(1, 2, 64)
        w = kerf.Workload(MIXED, "mixed", 1, 64, [x, kerf.Out(np.zeros(64)), np.int32(64)], tolerance=1e-5)
        return kerf.tune(w, budget=2, validate=2, formats="f32", **more)

    def test_a_function_gets_the_lines_and_may_stop_it(self):
        lines = []
        self.assertIn(self.tune(progress=lines.append).verdict, ("tuned", "unchanged"))
        self.assertTrue(any(l.startswith("search ") for l in lines), lines)

        def stop(line):
            raise ZeroDivisionError(line)

        with self.assertRaises(ZeroDivisionError):
            self.tune(progress=stop)

    def test_a_cell_shows_the_last_lines(self):
        with Display(in_kernel=True) as cell:
            self.tune()
            self.assertEqual(len(cell.shown), 1)
            self.assertIn("search ", cell.updated[-1])
            self.assertIn("<b>kerf tune</b>", cell.updated[-1])
            live = _notebook.Live("<t>")
            for k in range(20):
                live(f"line {k} <b>")
            self.assertNotIn("line 11 ", cell.updated[-1])
            self.assertIn("line 12 &lt;b&gt;", cell.updated[-1])
            self.assertIn("&lt;t&gt;", cell.updated[-1])

    def test_elsewhere_nothing_changes(self):
        with Display(in_kernel=False):
            self.assertFalse(_notebook.in_notebook())
            self.assertIs(_notebook.shown(True, "t"), True)
        with Display(in_kernel=True):
            self.assertIs(_notebook.shown(False, "t"), False)
            self.assertIs(_notebook.shown(print, "t"), print)


if __name__ == "__main__":
    unittest.main()
