"""Pressure on a shell: it stays normal to the surface, whose area changes.

The surface is the bilinear one through the nodes: neighbours have their edges in common, so that the forces on a closed
surface have no resultant in any motion, and its stiffness is symmetric. docs/shells.md, "Loads".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, ElementBatch, Motion, Numbering, checked, evaluate, number, or_function
from fem_mbs.elements.beams.inertia import element_rows
from fem_mbs.elements.shells.shell import Shell
from fem_mbs.elements.shells.strains import GAUSS, bilinear
from fem_mbs.lie import so3


def _volume() -> Array:
    """``C_ijk = int N_i (N_j,1 N_k,2 - N_k,1 N_j,2)`` over the parameters, ``(4, 4, 4)``: the quadrature is exact."""
    values, slopes = bilinear(GAUSS)
    products = np.einsum("gi,gj,gk->ijk", values, slopes[:, 0], slopes[:, 1])
    return np.asarray(products - products.swapaxes(1, 2))


VOLUME = _volume()


@checked
class Pressure(Element):
    """A pressure on a shell, along its normal: it follows the surface.

    Parameters
    ----------
    shell : Shell
        What it acts on.
    value : float or function of t
        Force per area in N/m^2, positive along the normal, about which the nodes of elements go counter-clockwise.
    """

    external = True

    def __init__(
        self, shell: Shell, value: Annotated[float | Callable[[float], float], partial(or_function, number)]
    ) -> None:
        self.shell, self.nodes, self.cells, self.value = shell, shell.nodes, shell.cells, value


class PressureContext(NamedTuple):
    """What the stiffness needs of the last force."""

    pressure: Array
    x: Array
    R: Array
    nodal: Array


class PressureBatch(ElementBatch, of=Pressure):
    """All pressures, a cell for each element of their shells: ``f_i = p/2 C_ijk x_j x x_k`` on the nodes."""

    def __init__(self, loads: Sequence[Pressure], number: Numbering) -> None:
        self.nodes = element_rows(loads, number)
        self.owners = [load for load in loads for _ in load.cells]
        constant = [0.0 if callable(load.value) else load.value for load in loads]
        self._constant = np.repeat(constant, [len(load.cells) for load in loads])
        ends = np.cumsum([len(load.cells) for load in loads])
        self._functions = [
            (slice(end - len(load.cells), end), load, load.value)
            for load, end in zip(loads, ends, strict=True)
            if callable(load.value)
        ]

    def at(self, t: float) -> Array:
        """Pressures ``(n,)``."""
        pressure = self._constant.copy()
        for cells, load, law in self._functions:
            pressure[cells] = evaluate(law, t, load, None)
        return pressure

    def scaled(self, prescribed: Array, factor: float) -> Array:
        return prescribed - (1.0 - factor) * self._constant

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, PressureContext]:
        """Minus the forces on the nodes, in their frames."""
        x, R = motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0)
        x = x - x[:, :1]
        products = np.cross(x[:, :, None], x[:, None])
        world = -0.5 * prescribed[:, None, None] * np.tensordot(products, VOLUME, ((1, 2), (1, 2))).swapaxes(1, 2)
        force = np.zeros((len(x), 4, 6))
        force[..., :3] = nodal = np.vecmat(world, R)
        return force.reshape(-1, 24), PressureContext(prescribed, x, R, nodal)

    def stiffness(self, context: PressureContext) -> Array:
        """Nodes move the surface, and body components turn against their node."""
        pressure, x, R, nodal = context
        n = len(x)
        sides = np.tensordot(so3.skew(x), VOLUME, ((1,), (2,)))  # (n, 3, 3, i, j)
        world = pressure[:, None, None, None, None] * np.moveaxis(sides, (3, 4), (1, 2))
        K = np.zeros((n, 4, 6, 4, 6))
        K[:, :, :3, :, :3] = (R.mT[:, :, None] @ world @ R[:, None]).swapaxes(2, 3)
        np.einsum("niaib->niab", K)[:, :, :3, 3:] += so3.skew(nodal)
        return K.reshape(n, 24, 24)
