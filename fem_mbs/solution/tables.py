"""Channels of a run as tables of other libraries, and as text."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import named_file
from fem_mbs.errors import ModelError, StoreError
from fem_mbs.solution.channels import Channel, parse, usual
from fem_mbs.solution.queries import Queries

PLACES: dict[tuple[str, ...], str] = {("x", "y", "z"): "axis"}
"""Names of dimensions that many channels have."""
BLOCK = 10_000
"""Rows of text that are written together."""


def chosen(solution: Queries, names: Sequence[str] | None) -> list[Channel]:
    """The channels of names; by default those that the file of the run holds, or those that show its motion."""
    if names is None:
        names = list(solution.history.columns) or usual(solution.system)
    if not names:
        raise ModelError(
            f"{type(solution).__name__}: channels must name one channel at least; nothing moves by default"
        )
    return [parse(solution.system, name, "channels: channel") for name in names]


def columns(solution: Queries, names: Sequence[str] | None) -> tuple[list[str], list[str], Array]:
    """Names, units and values ``(nt, c)`` of the columns of channels."""
    channels = chosen(solution, names)
    named = [column for channel in channels for column in channel.columns]
    units = [unit for channel in channels for unit in channel.units]
    return named, units, np.concatenate([own.values(solution) for own in channels], axis=1)


def to_pandas(solution: Queries, names: Sequence[str] | None) -> Any:
    """See :meth:`fem_mbs.Solution.to_pandas`."""
    pandas = _library("pandas")
    named, units, values = columns(solution, names)
    frame = pandas.DataFrame(values, index=pandas.Index(solution.t, name="t"), columns=named)
    frame.attrs["units"] = dict(zip(named, units, strict=True))
    return frame


def to_xarray(solution: Queries, names: Sequence[str] | None) -> Any:
    """See :meth:`fem_mbs.Solution.to_xarray`."""
    xarray = _library("xarray")
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {"t": ("t", solution.t, {"units": "s"})}
    for channel in chosen(solution, names):
        values, units = channel.values(solution), {"units": " and ".join(filter(None, dict.fromkeys(channel.units)))}
        if len(channel.columns) == 1:
            variables[channel.name] = "t", values[:, 0], units
        else:
            labels = tuple(column.removeprefix(channel.name).lstrip(".") for column in channel.columns)
            place = PLACES.get(labels, f"columns of {channel.name}")
            variables[channel.name] = ("t", place), values, units
            coordinates[place] = place, list(labels)
    return xarray.Dataset(variables, coordinates)


def to_csv(solution: Queries, path: Path, names: Sequence[str] | None) -> Path:
    """See :meth:`fem_mbs.Solution.to_csv`."""
    path = named_file(path, ".csv", "Solution.to_csv: path")
    named, units, values = columns(solution, names)
    heads = [f"{name} ({unit})" if unit else name for name, unit in zip(["t", *named], ["s", *units], strict=True)]
    try:
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(heads)
            for k in range(0, len(values), BLOCK):
                rows = np.column_stack([solution.t[k : k + BLOCK], values[k : k + BLOCK]])
                writer.writerows(map(repr, row) for row in rows.tolist())
    except OSError as error:
        raise StoreError(f"Solution.to_csv: cannot write '{path}': {error.strerror or error}") from error
    return path


def _library(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise ModelError(f"Solution.to_{name} needs {name}; install it with pip install fem_mbs[tables]") from None
