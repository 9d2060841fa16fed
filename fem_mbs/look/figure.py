"""A figure that a notebook shows once, also where a cell ends with it."""

from __future__ import annotations

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure


class Curves(Figure):
    """A figure of pyplot, whose inline backend shows at the end of a cell what is open: what is shown is closed."""

    def _ipython_display_(self) -> None:
        from IPython.core.pylabtools import print_figure
        from IPython.display import display

        display({"image/png": print_figure(self, base64=True), "text/plain": repr(self)}, raw=True)
        if "inline" in matplotlib.get_backend():
            pyplot.close(self)
