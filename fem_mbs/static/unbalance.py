"""How a rotor answers to unbalance: orbits of its nodes, and forces on its bearings. docs/rotors.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import block_array, csc_array
from scipy.sparse.linalg import splu

from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contracts import Direction, Element, Public, checked, real, shown
from fem_mbs.contracts.constraint import ElementOrName, NodeOrName, of_kind
from fem_mbs.errors import ModelError, SingularSystemError
from fem_mbs.initial.redundant import independent
from fem_mbs.modal.linear_model import LinearModel
from fem_mbs.modal.turned import TurnedModel
from fem_mbs.model.model import Model
from fem_mbs.static.campbell import Rotor, Speeds
from fem_mbs.static.steady_rotation import turning_rows
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System


@checked
def unbalance_response(
    model: Model,
    speeds: Speeds,
    unbalance: Mapping[str, Any],
    *,
    turning: Iterable[NodeOrName] | None = None,
    axis: Direction = (1.0, 0.0, 0.0),
) -> UnbalanceResponse:
    """How a rotor whirls under small unbalances at nodes, with the frequency of its speed.

    Parameters
    ----------
    model : Model
        A balanced rotor on its supports.
    speeds : (ns,)
        In rad/s, not zero.
    unbalance : dict
        By names of nodes that turn: mass times eccentricity in kg m, or a pair of this and an angle in rad, counted
        with the rotation from the direction ``response.across``.
    turning, axis
        As for :func:`campbell`.

    Raises
    ------
    ModelError
        As :func:`campbell`, and if a node does not exist or does not turn, or a speed is zero.
    SingularSystemError
        At a critical speed without damping.

    Notes
    -----
    ``(K + i w C - w^2 M) x = m e w^2 (u - i v)`` in axes that stand still, ``u x v`` along the rotation.
    """
    label, system = "unbalance_response", System(model)
    rotor, given = Rotor(model, turning, np.asarray(axis), label), np.asarray(speeds)
    if not given.all():
        raise ModelError(f"{label}: speeds must not be zero, received {shown(speeds)}")
    pushes = _pushes(system, turning_rows(system, rotor.turning, label), unbalance, f"{label}: unbalance")
    u, v = _across(rotor.axis)
    answers, loads = [], []
    for speed in given:
        linear, w = rotor.at(float(speed)), abs(float(speed))
        d = _response(linear, pushes * w**2 * (u - 1j * np.sign(speed) * v), w)
        answers.append(linear.node_motions(d))
        loads.append(_at_shafts(linear, d, w))
    return UnbalanceResponse(given, np.array(answers), u, v, system, tuple(loads))


def _pushes(system: System, turns: BoolArray, unbalance: Any, label: str) -> Array:
    """``m e exp(i angle)`` of each node, ``(n, 1)``."""
    if not isinstance(unbalance, Mapping) or not unbalance:
        raise ModelError(f"{label} must be a dict of nodes with m e or (m e, angle), received {shown(unbalance)}")
    result = np.zeros((system.n, 1), complex)
    for node, value in unbalance.items():
        row, pair = system.row(node, label), real(value)
        if not turns[row]:
            raise ModelError(f"{label}: {system.nodes[row]} does not turn; name nodes of the rotor")
        if pair is None or pair.shape not in ((), (2,)) or not np.isfinite(pair).all():
            raise ModelError(f"{label}[{node!r}] must be m e in kg m, or (m e, angle in rad), received {shown(value)}")
        size, angle = pair if pair.ndim else (pair, 0.0)
        result[row] += size * np.exp(1j * angle)
    return result


def _across(axis: Array) -> tuple[Array, Array]:
    """Two directions across an axis, and each other."""
    across = np.roll(np.eye(3), 1, axis=1)[int(np.argmax(np.abs(axis)))]
    u = across - (across @ axis) * axis
    u /= np.linalg.norm(u)
    return u, np.cross(axis, u)


def _response(linear: LinearModel, forces: Array, w: float) -> Array:
    """``d`` (n_free,) of the motion ``d exp(i w t)`` under ``forces exp(i w t)`` (n, 3) on nodes, world frame."""
    system = linear.system
    rows, force = independent(system), np.zeros(system.N, complex)
    system.nodes_of(force)[:, :3] = np.matvec(linear.state.R.mT, forces)
    force = system.at_free(force)
    A = csc_array(linear.K + 1j * w * linear.C - w**2 * linear.M)
    B, L = csc_array(linear.B[rows]), csc_array(linear.L[:, rows])
    whole = csc_array(block_array([[A, L], [B, None]])) if len(rows) else A
    try:
        return splu(whole).solve(np.append(force, np.zeros(len(rows))))[: len(force)]
    except RuntimeError:
        raise SingularSystemError(
            f"unbalance_response: {w:g} rad/s is a critical speed, at which nothing bounds the whirl: look beside it, "
            "or give the bearings damping"
        ) from None


def _at_shafts(linear: LinearModel, d: Array, w: float) -> list[Array]:
    """Forces ``(n, 3)`` of the elements of each batch against their last nodes, which move by ``d exp(i w t)``.

    Forces in space: those at rest, in body components, turn with their nodes. Elements without nodes, such as blocks of
    a controller, have none.
    """
    system = linear.system
    whole = system.spread(d.real) + 1j * system.spread(d.imag)
    motion = system.motion(from_user(system, linear.state, "unbalance_response"))
    seen, result = TurnedModel(system, motion, np.zeros((system.n, 3))).at(0.0), []
    every = zip(system.batches, seen.of_cells, seen.forces, system.components, strict=False)
    for batch, (K, C, M), force, places in every:
        if not batch.nodes.size:
            result.append(np.empty((0, 3)))
            continue
        last = 6 * batch.nodes.shape[1] - 6
        rows = (K + 1j * w * C - w**2 * M)[:, last : last + 3]
        turn, still = whole[places][:, last + 3 : last + 6], force.sum(axis=1)[:, last : last + 3]
        change = np.matvec(rows, whole[places]) + np.cross(turn, still)
        result.append(np.matvec(motion.R[batch.nodes[:, -1]], change))
    return result


@dataclass(frozen=True, eq=False, repr=False)
class UnbalanceResponse(Public):
    """Whirl of all nodes with the frequency of the speed, ``Re(shape exp(i w t))``.

    Attributes
    ----------
    speeds : (ns,)
        In rad/s.
    shapes : (ns, n, 6) complex
        Displacements and rotation vectors, world frame.
    across, other : (3,)
        Directions across the axis, from which angles count, and the next one, with the axis.
    """

    _internal = "system loads"
    speeds: Array
    shapes: Array
    across: Array
    other: Array
    system: System
    loads: tuple[list[Array], ...]

    @checked
    def bearing_force(self, bearing: ElementOrName) -> Array:
        """Force ``(ns, 3)`` with which the shaft acts on a bearing, or on another element by its last node.

        Complex, world frame: its size goes to the foundation.
        """
        owner = of_kind(self.system.find(bearing, label := "bearing_force: bearing"), Element, label)
        if owner not in self.system.elements:
            raise ModelError(f"{label}: {owner} is not in the model of this response")
        batch = next(k for k, own in enumerate(self.system.batches) if owner in own.owners)
        if not self.system.batches[batch].nodes.size:
            raise ModelError(f"{label} must be an element with nodes, received {owner}, which acts on none")
        row = list(self.system.batches[batch].owners).index(owner)
        return np.array([of_speed[batch][row] for of_speed in self.loads])

    @checked
    def displacement(self, node: NodeOrName) -> Array:
        """Displacement ``(ns, 3)`` of a node, complex, world frame."""
        return self.shapes[:, self.system.row(node, "UnbalanceResponse: node"), :3]

    @checked
    def forward(self, node: NodeOrName) -> Array:
        """Radius ``(ns,)`` of the part of the orbit that goes with the rotor."""
        return np.abs(self._parts(node)[0])

    @checked
    def backward(self, node: NodeOrName) -> Array:
        """Radius ``(ns,)`` of the part of the orbit that goes against the rotor."""
        return np.abs(self._parts(node)[1])

    @checked
    def major(self, node: NodeOrName) -> Array:
        """Larger half axis ``(ns,)`` of the orbit."""
        return self.forward(node) + self.backward(node)

    @checked
    def minor(self, node: NodeOrName) -> Array:
        """Smaller half axis ``(ns,)`` of the orbit, negative where the node goes round against the rotor."""
        return self.forward(node) - self.backward(node)

    def _parts(self, node: NodeOrName) -> tuple[Array, Array]:
        moved = self.displacement(node)
        x, y = moved @ self.across, np.sign(self.speeds) * (moved @ self.other)
        return 0.5 * (x + 1j * y), 0.5 * (x - 1j * y)

    def __repr__(self) -> str:
        return f"UnbalanceResponse at {len(self.speeds)} speeds to {np.abs(self.speeds).max():g} rad/s"
