"""A load on the mesh of a flexible body, which follows it: pressures, or forces on nodes (``free_mesh.py``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Annotated

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, GivenValues, LoadBatch, Motion, Name, Numbering, checked, number, so3
from fem_mbs.contracts.arguments import or_function
from fem_mbs.elements.flexible.flexible_body import FlexibleBatch, FlexibleBody
from fem_mbs.elements.flexible.floating_frame import FrameRates
from fem_mbs.errors import ModelError


@checked
class MeshLoad(Element):
    """A load on the mesh of a flexible body, which turns with the body.

    Parameters
    ----------
    body : FlexibleBody
        What it acts on.
    load : str
        Which one of the ``loads`` of its reduction.
    value : float or function of t
        By which that is multiplied: of a pressure, N/m^2 on faces, inwards.

    Raises
    ------
    ModelError
        If the reduction was made without this load.

    Notes
    -----
    A load that stays in the world, other than gravity, acts on interfaces.
    """

    strengths = ("value",)
    external = True

    def __init__(
        self,
        body: FlexibleBody,
        load: Name,
        value: Annotated[float | Callable[[float], float], partial(or_function, number)] = 1.0,
    ) -> None:
        known = body.reduction.loads
        if load not in known:
            raise ModelError(
                f"MeshLoad: {body} has no load '{load}' but {', '.join(known) or 'none'}; its reduction takes them "
                "as loads="
            )
        self.body, self.load, self.value, self.nodes = body, load, value, body.nodes

    def batch_key(self) -> Hashable:
        return self.body.batch_key()


LoadedFrames = tuple[FrameRates, Array, Array]
"""What the stiffness needs of the last force: how frames follow, its power and factors."""


class MeshLoadBatch(LoadBatch, of=MeshLoad):
    """Loads on bodies with as many interfaces and modes."""

    def __init__(self, loads: Sequence[MeshLoad], number: Numbering) -> None:
        self.owners, self._bodies = loads, FlexibleBatch([load.body for load in loads], number)
        self.nodes, self.own = self._bodies.nodes, self._bodies.own
        reduced = np.array([load.body.reduction.loaded[load.load] for load in loads])
        products = reduced[:, 1:].reshape(len(loads), -1, 3, 3)
        self._sum, self._moments = reduced[:, 0], 2.0 * so3.axial(products.swapaxes(2, 3))
        self._modal = np.trace(products[:, 1:], axis1=2, axis2=3)
        self.given = GivenValues(len(loads))
        """Factors."""
        for row, load in enumerate(loads):
            self.given.put(row, load.value, load)

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, LoadedFrames]:
        bodies = self._bodies
        d = bodies.frame(motion).d
        q = bodies.joined(d, motion.u)
        still = np.zeros_like(q)
        rates = FrameRates(bodies.attached, d, still, still)
        moment = self._moments[:, 0] + np.vecmat(q, self._moments[:, 1:])
        size = prescribed[:, None]
        p = rates.wrench(-size * np.concatenate([self._sum, moment], axis=1), -size * self._modal)
        return rates.at_interfaces(p), (rates, p, prescribed)

    def stiffness(self, context: LoadedFrames) -> Array:
        """Arms change with the deformation, and interfaces turn against the frame."""
        rates, p, size = context
        n, K = p.shape
        by_q = np.zeros((n, 6 + K, 1, K))
        by_q[:, 3:6, 0] = -size[:, None, None] * self._moments[:, 1:].mT
        return rates.tangent(p, np.zeros((n, 6 + K, 6)), by_q, rates.placed())
