"""A figure that a notebook shows once, also where a cell ends with it."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure


class Curves(Figure):
    """A figure of pyplot: its inline backend shows it at the end of the cell that makes it."""

    def _ipython_display_(self) -> None:
        """Show it as the value of a cell, unless the backend is going to."""
        from IPython.core.pylabtools import print_figure
        from IPython.display import display

        number: Any = getattr(self, "number", None)
        if "inline" in matplotlib.get_backend() and number is not None and pyplot.fignum_exists(number):
            return
        display({"image/png": print_figure(self, base64=True), "text/plain": repr(self)}, raw=True)
