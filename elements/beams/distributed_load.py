"""Forces and moments per length of a beam or of an edge, and per area of a shell.

Consistent with polynomials through the nodes (docs/beams.md, "Loads per length"; docs/shells.md, "Loads").
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, ElementBatch, Motion, NodeLike, Numbering, array, checked, evaluate
from fem_mbs.elements.beams.beam import Beam
from fem_mbs.elements.beams.inertia import element_rows
from fem_mbs.elements.forces.loads import Frame, Value
from fem_mbs.elements.shells.shell import Shell
from fem_mbs.errors import ModelError
from fem_mbs.lie import so3

LINEAR = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
"""How two nodes share a load that is linear between them."""


@checked
class DistributedLoad(Element):
    """A force and a moment per length along a beam, or per area of a shell.

    Parameters
    ----------
    beam : Beam or Shell
        What it acts on, along the line or over the surface of its nodes.
    force : (3,), (n, 3) or function of t
        Force per length as built, in N/m, of a shell per area, in N/m^2: one for the whole, or one at each of its ``n``
        nodes and linear in between, the polynomial of the element with orders 2 and 3. A function takes the time in s
        and returns either.
    moment : (3,), (n, 3) or function of t, optional
        Moment per length, in N m/m, or per area, in N m/m^2, likewise.
    frame : {"world", "body"}
        Frame of the components: the world, or the section frame, with which the load then turns: x along a beam, z
        along the normal of a shell and x along the first parameter of its elements.

    Notes
    -----
    The load, as it stands in the world, is linear between the ends of an element (of the degree of its order), and so
    is the motion on which it does work, as for inertia and weight: a force of the mass per length times gravity does
    what gravity does.
    """

    external = True

    def __init__(
        self, beam: Beam | Shell, force: Value, *, moment: Value | None = None, frame: Frame = "world"
    ) -> None:
        self.beam, self.nodes = beam, beam.nodes
        self.values = densities(force, moment, len(beam.nodes), f"DistributedLoad on {beam}")
        self.follows = frame == "body"

    def at_nodes(self, value: Array) -> Array:
        """A density at the nodes of each element ``(k, p, 3)``, in the world or, if it follows, in the node frames."""
        values = np.broadcast_to(value, (len(self.nodes), 3))[self.beam.cells]
        return np.matvec(self.beam.frames, values) if self.follows else values

    def batch_key(self) -> Hashable:
        return self.follows, self.beam.cells.shape[1]


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
        self.shared = length[:, None, None] * LINEAR
        self.offsets = np.zeros((len(length), 2, 3))

    @property
    def beam(self) -> EdgeLoad:
        """The line it acts on."""
        return self

    def at_nodes(self, value: Array) -> Array:
        """A density at the nodes of each piece ``(k, 2, 3)``, in the world."""
        return np.asarray(np.broadcast_to(value, (len(self.nodes), 3))[self.cells])


class DistributedLoadContext(NamedTuple):
    """What the stiffness needs of the last force."""

    R: Array
    density: Array
    nodal: Array


class DistributedLoads(ElementBatch, of=(DistributedLoad, EdgeLoad)):
    """Distributed loads in one frame, a cell for each element of their beams.

    Densities have the shape ``(n, p, 2, 3)``: the nodes, force and moment.
    """

    def __init__(self, loads: Sequence[Any], number: Numbering) -> None:
        counts = [len(load.beam.cells) for load in loads]
        self.nodes = element_rows([load.beam for load in loads], number)
        self.owners = [load for load, count in zip(loads, counts, strict=True) for _ in range(count)]
        self.follows = loads[0].follows
        self._weight = np.concatenate([load.beam.shared for load in loads])
        self._lever = so3.skew(np.concatenate([load.beam.offsets for load in loads]))
        self._constant = np.zeros((*self.nodes.shape, 2, 3))
        self._functions = []
        for load, last in zip(loads, np.cumsum(counts), strict=True):
            cells = slice(last - len(load.beam.cells), last)
            for part, value in enumerate(load.values):
                if callable(value):
                    self._functions.append((cells, part, load, value))
                else:
                    self._constant[cells, :, part] = load.at_nodes(value)

    def at(self, t: float) -> Array:
        """Densities, in the world or, if they follow, in the node frames."""
        density = self._constant.copy()
        for cells, part, load, law in self._functions:
            density[cells, :, part] = load.at_nodes(evaluate(law, t, load, 3, len(load.nodes)))
        return density

    def scaled(self, prescribed: Array, factor: float) -> Array:
        return prescribed - (1.0 - factor) * self._constant

    def force(self, motion: Motion, prescribed: Array) -> tuple[Array, DistributedLoadContext]:
        """Minus the resultants at the nodes."""
        R = motion.R.take(self.nodes, 0)
        world = np.matvec(R[:, :, None], prescribed) if self.follows else prescribed
        n, p = self.nodes.shape
        shared = (self._weight @ world.reshape(n, p, 6)).reshape(world.shape)
        nodal = -np.vecmat(shared, R[:, :, None])
        force = nodal.reshape(n, p, 6).copy()
        force[..., 3:] += np.matvec(self._lever, nodal[:, :, 0])
        return force.reshape(n, 6 * p), DistributedLoadContext(R, prescribed, nodal)

    def stiffness(self, context: DistributedLoadContext) -> Array:
        """Body components turn against their node; a load that follows turns with the node it comes from."""
        R, density, nodal = context
        n, p = self.nodes.shape
        K = np.zeros((n, p, 6, p, 6))
        turned = K[..., 3:]
        for k in range(p):
            turned[:, k, :, k] = so3.skew(nodal[:, k]).reshape(-1, 6, 3)
        if self.follows:
            shares = self._weight[..., None, None] * (R[:, :, None].mT @ R[:, None])
            turned += np.einsum("nijab,njkbc->nikajc", shares, so3.skew(density)).reshape(n, p, 6, p, 3)
        turned[:, :, 3:] += np.einsum("niab,nibjc->niajc", self._lever, turned[:, :, :3])
        return K.reshape(n, 6 * p, 6 * p)


def densities(force: Value, moment: Value | None, nodes: int, label: str) -> tuple[Any, Any]:
    """Checked densities of force and moment, or functions of time."""
    what = f"three finite numbers per length, or three at each of the {nodes} nodes"
    first, second = (
        value if callable(value) else array(value, f"{label}: {name}", (3,), (nodes, 3), what=what)
        for name, value in (("force", force), ("moment", np.zeros(3) if moment is None else moment))
    )
    return first, second
