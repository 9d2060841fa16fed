"""A figure that a notebook shows once, also where a cell ends with it."""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure


class Curves(Figure):
    """A figure of pyplot, whose inline backend shows at the end of a cell what is open: what is shown is closed."""

    def _ipython_display_(self) -> None:
        from IPython.core import pylabtools
        from IPython.display import display

        show: Any = display
        png: Any = pylabtools.print_figure
        show({"image/png": png(self, base64=True), "text/plain": repr(self)}, raw=True)
        if "inline" in matplotlib.get_backend():
            pyplot.close(self)
