"""Forces and moments per length of an edge of a shell, which bends with its nodes.

From one node to the next an edge is a screw, as its elements have it (``elements/shells/edges.py``), with a frame
half-way, ``H_m = h(H_a, H_b)``. By Simpson's rule, which is exact for an edge that bows and a load that is linear, a
sixth of the load is at each end and the rest in the middle, which follows its ends by ``(1 -+ h)/2``
(``elements/beams/curve_strain.py``). docs/theory.md, "Shells".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, Motion, NodeLike, checked
from fem_mbs.elements.beams.curve_strain import HalfWay
from fem_mbs.elements.beams.loads import DistributedLoads, densities
from fem_mbs.elements.forces.loads import Value
from fem_mbs.errors import ModelError
from fem_mbs.lie import se3, so3

ENDS = np.array([-1.0, 1.0])[:, None, None]
"""Signs of the half-way operator in how the middle follows both ends."""
SIMPSON = np.array([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]]) / 6.0
"""Shares of the densities at both ends in the load at one end, in the middle, and at the other."""


@checked
class EdgeLoad(Element):
    """A force and a moment per length along a chain of nodes, such as an edge of a shell: ``panel.edge("right")``.

    Parameters
    ----------
    nodes : sequence of Node
        At least two, one after the other; the first again at the end for a closed line.
    force : (3,), (n, 3) or function of t
        Force per length as built, world frame, in N/m: one for the whole line, or one at each node and linear in
        between. A function takes the time in s and returns either.
    moment : (3,), (n, 3) or function of t, optional
        Moment per length, in N m/m, likewise.
    """

    external = True
    follows = False

    def __init__(self, nodes: Sequence[NodeLike], force: Value, *, moment: Value | None = None) -> None:
        chain = list(nodes)
        if len(chain) < 2:
            raise ModelError(f"EdgeLoad: nodes must be at least two nodes along an edge, received {len(chain)}")
        order = {node: k for k, node in enumerate(dict.fromkeys(chain))}
        self.nodes = tuple(order)
        self.cells = np.array([[order[a], order[b]] for a, b in pairwise(chain)])
        label = f"EdgeLoad on {self.nodes[0]}, ..."
        self.values = densities(force, moment, len(self.nodes), label)
        x = np.array([node.position for node in self.nodes])[self.cells]
        length = np.linalg.norm(x[:, 1] - x[:, 0], axis=1)
        if not (length > 0.0).all():
            raise ModelError(f"{label}: two successive nodes are at the same place")
        self.shared = length[:, None, None] * SIMPSON
        self.offsets = np.zeros((len(length), 2, 3))

    @property
    def beam(self) -> EdgeLoad:
        """The line it acts on."""
        return self

    def at_nodes(self, value: Array) -> Array:
        """A density at the nodes of each piece ``(k, 2, 3)``, in the world."""
        return np.asarray(np.broadcast_to(value, (len(self.nodes), 3))[self.cells])


class EdgeLoadContext(NamedTuple):
    """What the stiffness needs of the last force."""

    e: Array
    """From one end of each edge to the other, ``(n, 6)``."""
    half: HalfWay
    shares: Array
    """By which the middle follows the ends, ``(n, 2, 6, 6)``."""
    wrench: Array
    """Minus the load at both ends and in the middle, in their frames, ``(n, 3, 6)``: first, middle, last."""


class EdgeLoads(DistributedLoads, of=EdgeLoad):
    """Loads of edges, a cell for each piece between two nodes."""

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, EdgeLoadContext]:  # type: ignore[override]
        """Minus the loads at the nodes and their shares of that in the middle."""
        n = len(self.nodes)
        R = motion.R.take(self.nodes, 0)
        x = motion.x.take(self.nodes, 0)
        e = se3.log(R[:, 0].mT @ R[:, 1], np.vecmat(x[:, 1] - x[:, 0], R[:, 0]))
        half = HalfWay(e)
        shares = 0.5 * (se3.IDENTITY + ENDS * half.value()[:, None])
        frames = np.stack([R[:, 0], R[:, 0] @ so3.exp(0.5 * e[:, 3:]), R[:, 1]], axis=1)
        loads = (self._weight @ prescribed.reshape(n, 2, 6)).reshape(n, 3, 2, 3)
        wrench = -np.vecmat(loads, frames[:, :, None]).reshape(n, 3, 6)
        force = wrench[:, ::2] + np.vecmat(wrench[:, None, 1], shares)
        return force.reshape(n, 12), EdgeLoadContext(e, half, shares, wrench)

    def stiffness(self, context: EdgeLoadContext) -> Array:  # type: ignore[override]
        """Components turn against each frame, and the shares of the ends change with the edge."""
        e, half, shares, wrench = context
        n = len(e)
        turning = np.zeros((n, 3, 6, 6))
        turning[..., 3:] = so3.skew(wrench.reshape(n, 3, 2, 3)).reshape(n, 3, 6, 3)
        inverse = se3.InverseTangent(e)
        forward = inverse.forward()
        by_ends = np.stack([inverse.A - forward, forward], axis=1)
        change = 0.5 * half.transposed_derivative(wrench[:, 1])[:, None] @ by_ends
        # rows of an end, columns of an end
        K = shares.mT[:, :, None] @ (turning[:, 1, None] @ shares)[:, None]
        K += ENDS[:, None] * change[:, None]
        for end in range(2):
            K[:, end, end] += turning[:, 2 * end]
        stiffness: Array = K.swapaxes(2, 3).reshape(n, 12, 12)
        return stiffness
