"""Channels of a run as curves over its time, or the load factor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from fem_mbs.contracts import Path
from fem_mbs.pictures.extras import need, written
from fem_mbs.solution.channels import Channel, parse
from fem_mbs.solution.queries import Queries

WIDTH, HEIGHT = 7.0, 2.6
MOST = 12
"""Curves that get a legend."""


def curves(solution: Queries, names: Sequence[str], label: str, file: Path | None = None) -> Any:
    """A matplotlib figure: one pair of axes for each unit, one under the other; ``label`` is that of the abscissa."""
    by_unit: dict[str, list[tuple[str, Any]]] = {}
    for name in names:
        channel: Channel = parse(solution.system, name)
        for column, unit, values in zip(channel.columns, channel.units, channel.values(solution).T, strict=True):
            by_unit.setdefault(unit, []).append((column, values))
    size = WIDTH, HEIGHT * len(by_unit) + 0.4
    pyplot = need("matplotlib.pyplot", "solution.plot")
    figure, every = pyplot.subplots(
        len(by_unit), 1, sharex=True, squeeze=False, figsize=size, layout="constrained", FigureClass=_figure_class()
    )
    for axes, (unit, columns) in zip(every[:, 0], by_unit.items(), strict=True):
        for column, values in columns:
            axes.plot(solution.t, values, label=column)
        axes.set_ylabel(_shared([column for column, _ in columns]) + (f" ({unit})" if unit else ""))
        axes.grid(alpha=0.3)
        if 1 < len(columns) <= MOST:
            axes.legend(fontsize="small")
    every[-1, 0].set_xlabel(label)
    if file is not None:
        written(file, figure.savefig)
    return figure


@cache
def _figure_class() -> Any:
    """A figure that a notebook shows once, also where a cell ends with it."""
    matplotlib, pyplot = need("matplotlib", "solution.plot"), need("matplotlib.pyplot", "solution.plot")
    base: Any = need("matplotlib.figure", "solution.plot").Figure

    class Curves(base):  # type: ignore[misc]
        """A figure of pyplot, whose inline backend shows at the end of a cell what is open: what is shown is closed."""

        def _ipython_display_(self) -> None:
            from IPython.core import pylabtools
            from IPython.display import display

            show: Any = display
            png: Any = pylabtools.print_figure
            show({"image/png": png(self, base64=True), "text/plain": repr(self)}, raw=True)
            if "inline" in matplotlib.get_backend():
                pyplot.close(self)

    return Curves


def _shared(columns: Sequence[str]) -> str:
    """What names of columns begin with."""
    words = [column.split(".") for column in columns]
    first = words[0]
    alike = [len(set(level)) == 1 for level in zip(*words, strict=False)]
    count = next((k for k, same in enumerate(alike) if not same), len(alike))
    return ".".join(first[:count])
