"""Pressure on a shell: it stays normal to the surface, whose area changes.

The surface is the bilinear one through the nodes: neighbours have their edges in common, so that the forces of an even
pressure on a closed surface have no resultant in any motion, and its stiffness is symmetric. One that is given at the
nodes is bilinear between them, too, and goes with the material. docs/shells.md, "Loads".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np

from fem_mbs.arrays import Array, ArrayLike
from fem_mbs.contracts import Element, GivenValues, LoadBatch, Motion, Numbering, array, checked
from fem_mbs.contracts.arguments import or_function
from fem_mbs.elements.beams.inertia import elements_of
from fem_mbs.elements.shells.shell import Shell
from fem_mbs.elements.shells.strains import GAUSS, bilinear
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3


def _volume() -> Array:
    """``C_lijk = int N_l N_i (N_j,1 N_k,2 - N_k,1 N_j,2)`` over the parameters, ``(4, 4, 4, 4)``.

    The quadrature is exact: of degree 3 in each parameter.
    """
    values, slopes = bilinear(GAUSS)
    products = np.einsum("gl,gi,gj,gk->lijk", values, values, slopes[:, 0], slopes[:, 1])
    return np.asarray(products - products.swapaxes(2, 3))


VOLUME = _volume()


def _at_nodes(value: Any, label: object) -> Any:
    values = array(value, label, (), (None,), what="a number, or one for each node of the shell")
    return float(values) if values.ndim == 0 else values


Values = Annotated[ArrayLike | Callable[[float], ArrayLike], partial(or_function, _at_nodes)]


@checked
class Pressure(Element):
    """A pressure on a shell, along its normal: it follows the surface.

    Parameters
    ----------
    shell : Shell
        What it acts on.
    value : float, (n,) or function of t
        Force per area in N/m^2, positive along the normal, about which the nodes of elements go counter-clockwise: one
        for the whole, or one at each of its ``n`` nodes and bilinear in between. A function takes the time in s and
        returns either.
    """

    strengths = ("value",)
    external = True

    def __init__(self, shell: Shell, value: Values) -> None:
        self.shell, self.nodes, self.cells, self.value = shell, shell.nodes, shell.cells, value
        if not callable(value):
            self.at_corners(value)

    def at_corners(self, value: Any) -> Array:
        """A pressure at the corners of each element, ``(k, 4)``."""
        if np.shape(value) not in ((), (len(self.nodes),)):
            raise ModelError(
                f"Pressure on {self.shell}: value must be a number, or one for each of its {len(self.nodes)} nodes, "
                f"received {np.shape(value)}"
            )
        return np.asarray(np.broadcast_to(value, len(self.nodes))[self.cells])


class PressureBatch(LoadBatch, of=Pressure):
    """All pressures, a cell for each element of their shells: ``f_i = p_l/2 C_lijk x_j x x_k`` on the nodes."""

    def __init__(self, loads: Sequence[Pressure], number: Numbering) -> None:
        self.nodes, self.owners, parts = elements_of(loads, number, loads)
        self.given = GivenValues(*self.nodes.shape)
        """Pressures at the corners."""
        for load, cells in parts:
            self.given.put(cells, load.value, load, None, len(load.nodes), spread=load.at_corners)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, tuple[Array, ...]]:
        x, R = motion.x.take(self.nodes, 0), motion.R.take(self.nodes, 0)
        x = x - x[:, :1]
        products = np.cross(x[:, :, None], x[:, None])
        volume = np.tensordot(prescribed, VOLUME, 1)  # p_l C_lijk (n, 4, 4, 4)
        world = -0.5 * volume.reshape(-1, 4, 16) @ products.reshape(-1, 16, 3)
        force = np.zeros((len(x), 4, 6))
        force[..., :3] = nodal = np.vecmat(world, R)
        return force.reshape(-1, 24), (volume, x, R, nodal)

    def stiffness(self, context: tuple[Array, ...]) -> Array:
        """Nodes move the surface, and body components turn against their node."""
        volume, x, R, nodal = context
        n = len(x)
        world = (volume.reshape(n, 16, 4) @ so3.skew(x).reshape(n, 4, 9)).reshape(n, 4, 4, 3, 3)
        K = np.zeros((n, 4, 6, 4, 6))
        K[:, :, :3, :, :3] = (R.mT[:, :, None] @ world @ R[:, None]).swapaxes(2, 3)
        np.einsum("niaib->niab", K)[:, :, :3, 3:] += so3.skew(nodal)
        return K.reshape(n, 24, 24)
