"""Dampers that push in vain as nodes turn on R3xSO3.

Newmark's formulas on R3xSO3 give nodes on a circle too large velocities, and their rotations the right ones. Dampers
between nodes that turn as one see the difference, and push where nothing moves. That stays as long as they turn, moves
hardly anything, and no estimated error is of it. The motion and the matrices of the dampers tell how much it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import State
from fem_mbs.run.interfaces import Reached
from fem_mbs.run.monitors import NO_FORCE
from fem_mbs.system.pattern import TINY
from fem_mbs.system.system import System

IN_VAIN, MATTERS = 0.05, 1e-3
"""Shares of the largest force of an element, and of the model, of what its dampers push in vain, that are told."""
TURNS, FASTER = 1e-4, 1.2
"""Rotation in a step, in rad, below which none is looked at, and how much faster than at looks before."""


def damped_between(system: System) -> list[int]:
    """Numbers of the batches that may damp between nodes, one of them on R3xSO3, the more the faster these are."""
    free = _on_r3xso3(system)
    batches = enumerate(system.batches)
    return [k for k, b in batches if b.damps and not b.kinked and b.nodes.shape[1] > 1 and free[b.nodes].any()]


class DampersThatTurn:
    """Looks at such batches, where a node that they have on R3xSO3 turns faster than at any look before.

    ``share`` is that of ``(w h)^2`` by which velocities of the method are off, ``turning`` of its contract.
    """

    def __init__(self, system: System, damped: Sequence[int], share: float) -> None:
        self._system, self._damped, self._share, self._free = system, damped, share, _on_r3xso3(system)
        nodes = np.unique(np.concatenate([system.batches[k].nodes.ravel() for k in damped]))
        self._nodes = nodes[self._free[nodes]]
        self._turned = np.full(len(self._nodes), TURNS / FASTER)
        owners = [owner for k in damped for owner in system.batches[k].owners]
        places = {owner: place for place, owner in enumerate(dict.fromkeys(owners))}
        self._owners, self._cells = list(places), np.array([places[owner] for owner in owners])
        self._vain, self._times, self._largest = np.zeros((3, len(places)))
        """Of each element the largest force in vain, when that is, and the largest force;"""
        self._scale = self._momentum = self._step = 0.0
        """that of the model, the largest momentum of a node, and the longest step."""
        self._last = list[State]()

    def look(self, reached: Reached) -> None:
        """At one of these states, with those a step before and after."""
        states = reached.after(2)
        if len(states) < 3:
            return
        h, spins = np.diff([state.t for state in states]), np.array([state.v for state in states])[:, self._nodes, 3:]
        speeds = np.sqrt(np.vecdot(spins, spins))
        turned = np.minimum(h[1:], h[:-1])[:, None] * np.minimum.reduce([speeds[:-2], speeds[1:-1], speeds[2:]])
        self._last, self._step = states[-3:], max(self._step, float(h.max()))
        faster = (turned / self._turned).max(axis=1)
        if faster.max() > FASTER:
            k = int(np.flatnonzero(faster * FASTER > faster.max())[-1])  # the later, the less is left of a start
            self._turned = np.maximum(self._turned, turned[k])
            self._look(*states[k : k + 3])

    def warning(self) -> str:
        """The element with the largest share of forces in vain; empty if they are large nowhere."""
        if not self._vain.any():
            return ""
        self._look(*self._last)
        least = MATTERS * max(self._scale, NO_FORCE * self._momentum / self._step)
        told = self._vain > np.maximum(IN_VAIN * self._largest, least)
        if not told.any():
            return ""
        k = int((told * self._vain / np.maximum(self._largest, TINY)).argmax())
        others = f" (and {told.sum() - 1} more)" if told.sum() > 1 else ""
        largest = max(self._largest[k], self._vain[k])
        return (
            f"{self._owners[k]}{others}: steps are too long for dampers that turn with it: at t = {self._times[k]:.6g} "
            f"s they push with {self._vain[k]:.3g} N where nothing moves, of {largest:.3g} N at most in it. Velocities "
            "of nodes on R3xSO3 err on circles; forces within it and reactions may be off by as much. The estimated "
            'error is that of places. Put its nodes on SE3 (Model("SE3"), or group="SE3" of each), take smaller steps, '
            "with whose square that falls, or RadauIIA"
        )

    @np.errstate(over="ignore", invalid="ignore")  # of a run that has become unstable
    def _look(self, before: State, state: State, after: State) -> None:
        """How large forces are at a state, and those in vain.

        Rates ring from step to step where these are too long for what vibrates, which is no turn, and velocities jump
        where something is hit: the smaller one of what two accelerations tell counts.
        """
        system, motion, multipliers = self._system, self._system.motion(state), state.multipliers[: self._system.m]
        h, forces, vain = min(state.t - before.t, after.t - state.t), list[Array](), list[Array]()
        (V, A), (first, _), (last, _) = (_in_the_world(system, own) for own in (state, before, after))
        V, pair, R = 0.25 * (first + last) + 0.5 * V, (A, (last - first) / (after.t - before.t)), state.R
        for k in self._damped:
            batch, nodes, shape = system.batches[k], system.batches[k].nodes, system.components[k].shape
            force, context = batch.force(motion, batch.at(min(state.t, system.end)))
            changes, found = np.zeros((3, *shape)), list[Array]()
            for rates in pair:
                missed = h**2 * missed_in_turns(V[nodes], rates[nodes], self._share)
                of_nodes = changes[0, :, : 6 * nodes.shape[1]].reshape(*nodes.shape, 2, 3)
                of_nodes[:, :, 0] = np.vecmat(missed, R[nodes]) * self._free[nodes, None]
                pushes = batch.rate_force(context, *changes)
                found.append(_largest_of_nodes(changes[1] if pushes is None else pushes, nodes))
            vain.append(np.minimum(*found))
            forces.append(_largest_of_nodes(force, nodes))
        momenta = np.abs(system.diagonal_mass[: 6 * system.n].reshape(-1, 6) * motion.V)[:, :3]
        self._momentum = max(self._momentum, float(momenta.max()))
        reactions = np.abs(multipliers[system.of_length]).max(initial=0.0)
        self._scale = max(self._scale, float(reactions), *(float(own.max()) for own in forces))
        now = np.zeros_like(self._vain)
        np.maximum.at(self._largest, self._cells, np.concatenate(forces))
        np.maximum.at(now, self._cells, np.concatenate(vain))
        self._times[now > self._vain] = state.t
        self._vain = np.maximum(self._vain, now)


def _in_the_world(system: System, state: State) -> Array:
    """Velocities and accelerations of nodes, linear and angular, ``(2, n, 2, 3)``."""
    rates = system.kinematics.motion(state.R, np.array([state.v, state.vdot]))
    return np.matvec(state.R[:, None], rates.reshape(2, -1, 2, 3))


def _on_r3xso3(system: System) -> BoolArray:
    """Which nodes ``(n,)`` are."""
    free = np.ones(system.n, np.bool_)
    for group, rows in system.kinematics.parts:
        free[rows] = not group.coupled
    return free


def _largest_of_nodes(forces: Array, nodes: IntArray) -> Array:
    """The largest force ``(c,)`` on one of the nodes ``(c, p)`` of cells, of forces ``(c, b)`` or ``(c, terms, b)``."""
    of_nodes = forces[..., : 6 * nodes.shape[1]].reshape(len(nodes), -1, 2, 3)[:, :, 0]
    return np.asarray(np.sqrt(np.vecdot(of_nodes, of_nodes).max(axis=1)))


def missed_in_turns(velocities: Array, accelerations: Array, share: float) -> Array:
    """What velocities lack of those of a body that turns as one, over ``h^2``, ``(c, p, 3)``.

    Newmark's formulas make velocities ``u - k u''`` of nodes in the world, and ``w - k w'' + b w x w'`` about axes of a
    body, with the ``share`` ``k`` and ``b = 1/12``: docs/theory.md, "Dampers within what turns". The ``p`` nodes of a
    cell are seen from that which turns fastest, by velocities and accelerations ``(c, p, 2, 3)``, linear and angular.
    """
    cells, spins, b = np.arange(len(velocities)), velocities[:, :, 1], 1.0 / 12.0
    first = np.vecdot(spins, spins).argmax(axis=1)
    w, w_dot = (own[cells, first, None, 1] for own in (velocities, accelerations))
    u, a = (own[:, :, 0] - own[cells, first, None, 0] for own in (velocities, accelerations))
    turned: Array = np.cross(w, (2.0 * share + b) * a - (share + b) * np.cross(w, u))
    return turned + (share - b) * np.cross(w_dot, u)
