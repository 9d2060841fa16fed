"""What a check of a model has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Public, listed
from fem_mbs.pictures.pictures import page

SHOWN = 4
WIDTH = 22


class Finding(NamedTuple):
    """Something that looks wrong.

    Attributes
    ----------
    text : str
        What it is and what to try.
    of : tuple of str
        Names of the objects that it is about.
    refused : bool
        Whether a run would refuse the model for it.
    """

    text: str
    of: tuple[str, ...] = ()
    refused: bool = False

    def __str__(self) -> str:
        return f"{listed(self.of, SHOWN)}: {self.text}" if self.of else self.text


@dataclass(repr=False)
class Check(Public):
    """What :meth:`fem_mbs.Model.check` has found; ``print`` shows all of it.

    Attributes
    ----------
    title : str
        What the model is made of.
    unknowns, equations, redundant : int
        Components of nodes and own coordinates of elements that may move, equations of joints, and how many of these
        are too many.
    free_motions : int
        Independent motions that nothing resists as built: those of a mechanism.
    moving : str
        What moves in these.
    masses : dict of str to float
        Mass of each element that has any.
    center_of_mass : (3,) or None
        World frame.
    gap : float
        Largest gap of a joint against the extent of the model.
    contacts : int
        Points of rigid contacts, stops and ropes, which ``NonsmoothAlpha`` alone integrates.
    findings : list of Finding
        What looks wrong.
    """

    title: str
    unknowns: int = 0
    equations: int = 0
    redundant: int = 0
    free_motions: int = 0
    moving: str = ""
    masses: dict[str, float] = field(default_factory=dict)
    center_of_mass: Array | None = None
    gap: float = 0.0
    contacts: int = 0
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing looks wrong."""
        return not self.findings

    @property
    def degrees_of_freedom(self) -> int:
        """Independent motions that joints leave."""
        return self.unknowns - self.equations + self.redundant

    @property
    def mass(self) -> float:
        """Mass of the whole model."""
        return sum(self.masses.values())

    def rows(self) -> list[tuple[str, str]]:
        """What there is, a name and words for it each."""
        independent = self.equations - self.redundant
        rows = [
            (
                "degrees of freedom",
                f"{self.degrees_of_freedom}: {self.unknowns} of nodes and elements less {independent} closed by joints",
            ),
            ("redundant equations", f"{self.redundant} of {self.equations}"),
            ("free motions", f"{self.free_motions}" + (f": {self.moving}" if self.moving else "")),
            ("mass", f"{self.mass:.6g}" + (f" ({self._heaviest()})" if self.masses else "")),
        ]
        if self.center_of_mass is not None:
            rows.append(("mass centre", f"({', '.join(f'{x:.4g}' for x in np.round(self.center_of_mass, 9) + 0.0)})"))
        if self.contacts:
            rows.append(("rigid contacts", f"{self.contacts} points, for NonsmoothAlpha, the default method then"))
        return [*rows, ("gaps of joints", f"{self.gap:.1e} of the extent of the model")]

    def _heaviest(self) -> str:
        ordered = sorted(self.masses.items(), key=lambda pair: -pair[1])
        named = [f"{name}: {mass:.4g}" for name, mass in ordered[:SHOWN]]
        return ", ".join([*named, *([f"{len(ordered) - SHOWN} more"] if len(ordered) > SHOWN else [])])

    def _verdict(self) -> str:
        if self.ok:
            return "nothing looks wrong"
        return f"{len(self.findings)} thing{'s look' if len(self.findings) > 1 else ' looks'} wrong:"

    def __str__(self) -> str:
        lines = [self.title, *(f"  {name:{WIDTH}}{text}" for name, text in self.rows()), f"  {self._verdict()}"]
        return "\n".join([*lines, *("  - " + str(finding).replace("\n", "\n    ") for finding in self.findings)])

    def __repr__(self) -> str:
        return f"Check: {self.degrees_of_freedom} degrees of freedom, {self._verdict().rstrip(':')}"

    def _repr_html_(self) -> str:
        return page([*self.rows(), (self._verdict(),), *((finding,) for finding in self.findings)], self.title)
