"""Paths of equilibria on which contacts, stops and ropes without friction close and open.

Between two changes a path is that of a model whose closed contacts are joints. A step that ends with an open contact
deep, or with a closed one that pulls, ends where that begins instead, to rounding, by the rule of false position; the
next one goes on with the contact closed, or open. What is piecewise linear is so exactly.
"""

from __future__ import annotations

import numpy as np

from fem_mbs.alpha.newmark import chung_hulbert
from fem_mbs.alpha.starting_values import step_matrix
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.as_joints import with_multipliers
from fem_mbs.contact.closed import OPEN, SLIDES, ClosedSystem
from fem_mbs.contact.contacts import contacts_of
from fem_mbs.contact.impact import placed
from fem_mbs.contracts import State
from fem_mbs.contracts.unilateral import TOUCHING
from fem_mbs.errors import FemMbsError
from fem_mbs.initial.singular import handle_repeated
from fem_mbs.newton import Newton, NotConvergedError
from fem_mbs.run.interfaces import AcceptedStep
from fem_mbs.static.equations import Equations, Loading, Point, unstable_motions
from fem_mbs.static.path import RUN, EquilibriumPath
from fem_mbs.static.start import start
from fem_mbs.system import matrices as tangent
from fem_mbs.system.states import from_user
from fem_mbs.system.system import System

MEETS = 1e-11
"""Gap over the extent of the model, and force over the largest, that are none."""
LEAST = 1e-9
"""Force that counts, over the stiffness and the extent of the model."""
SHORT = 1e-6
"""A step in s in which nothing but mass tells what is near."""
NEAR = 1e-9
"""Load factors, over their range, that are the same."""
TRIALS = 60
"""Steps to where a contact closes or opens."""


class ContactPath:
    """A path under way, and which contacts are closed on it."""

    def __init__(
        self, system: System, loading: Loading, initial: State | None, ramp: bool, newton: Newton, length: float | None
    ) -> None:
        self.contacts, self.loading, self.newton, self.step = contacts_of(system), loading, newton, length
        self.system, self.last = (
            system,
            Point(system.x0, system.R0, system.u0, np.zeros(system.m), loading.start).state(),
        )
        self._failed, self._singular = 0, list[tuple[float, float]]()
        if initial is not None:
            self.last = from_user(system, initial, "statics: initial")
        self.closed = self.contacts.gaps(system.motion(self.last)) <= TOUCHING * system.length
        tried, given = set[bytes](), initial is not None
        while True:
            tried.add(self.closed.tobytes())
            self.found = found = self._system(self.closed)
            equations, inner = Equations(found.system, loading), with_multipliers(self.contacts, found, self.last)
            point = start(equations, found.system.to_user(inner) if given else None, ramp, newton)
            self._size = max(equations.evaluate(point).scale[0], LEAST * system.length / equations.force_factor)
            values, self.last, given = self._values(found, point), self.state(found, point), True
            worst = int(values.argmin())
            if values[worst] >= -MEETS:
                break
            self.closed = self.closed.copy()
            self.closed[worst] = ~self.closed[worst]
            if self.closed.tobytes() in tried:
                raise NotConvergedError("statics: contacts change between open and closed without end")
            if self.closed[worst]:
                self.last = self._pushed_out(self.last)
        self.unstable = unstable_motions(equations, point)
        if loading.end != loading.start:
            self._follow(equations, point)

    def _pushed_out(self, state: State) -> State:
        """The nearest place without depth."""
        contacts, allowed = self.contacts, TOUCHING * self.system.length
        metric = step_matrix(contacts.open, contacts.without(state), SHORT, chung_hulbert(1.0))
        every = np.ones(contacts.elements, np.bool_)
        return placed(contacts, state, self.closed, allowed, every, metric)[0]

    def _system(self, closed: BoolArray) -> ClosedSystem:
        return self.contacts.closed.of(np.where(closed, SLIDES, OPEN))

    def _follow(self, equations: Equations, point: Point) -> None:
        self.path = EquilibriumPath(equations, point, self.newton, False, self.step)

    def _values(self, found: ClosedSystem, point: Point) -> Array:
        """Gaps of open contacts over the extent of the model, and forces of closed ones over the largest, ``(C,)``."""
        state = self.state(found, point)
        values = self.contacts.gaps(self.system.motion(state)) / self.system.length
        forces = self.contacts.forces(state)[:, 0]
        values[found.contacts] = forces[found.contacts] / self._size
        return values

    def state(self, found: ClosedSystem, point: Point) -> State:
        """A point as a state of the model, with the forces of its contacts."""
        forces = np.zeros((self.contacts.count, 3))
        forces[found.contacts, 0] = point.multipliers[found.multipliers[:, 0]]
        return self.contacts.carry_on(self.last, point.state(), forces)

    @property
    def failed(self) -> int:
        """Attempts without a solution."""
        return self._failed + self.path.failed

    @property
    def singular(self) -> list[tuple[float, float]]:
        """Load factors between which the stiffness is singular."""
        return self._singular + self.path.singular

    def go_on(self, stops: Array) -> AcceptedStep:
        """The state at the end of a step, at the next change of contacts at most."""
        first, length, high = self.path.here.point, self.path.length, np.inf
        before = self._values(self.found, first)
        for _ in range(TRIALS):
            step = self.path.advance(stops if high == np.inf else np.array([high]))
            values = self._values(self.found, step.point)
            if not (bad := values < -MEETS).any():
                break
            begins = np.maximum(before[bad], 0.0)
            way = (step.point.load - first.load) * begins / (begins - values[bad])
            at_once = np.zeros_like(bad)
            at_once[bad] = np.abs(way) <= NEAR * self.path.equations.range
            if at_once.any():
                self._change(at_once, first)
                first, high = self.path.here.point, np.inf
                before = self._values(self.found, first)
            else:
                high = first.load + float(way[np.abs(way).argmin()])
                self._failed += self.path.failed
                self._follow(self.path.equations, first)
            self.path.length = length
        else:
            raise NotConvergedError("contacts change between open and closed without end")
        self.last = state = self.state(self.found, step.point)
        if (meets := (np.abs(values) <= MEETS) & (before > MEETS)).any():
            self._change(meets, step.point)
            self.path.length = max(length, self.path.length)
        return AcceptedStep(state, step.report, self.path.here.unstable)

    def explain(self, failure: FemMbsError) -> FemMbsError:
        """How far the path was followed, and why not further."""
        return self.path.explain(failure, RUN)

    def _change(self, changes: BoolArray, point: Point) -> None:
        """Go on from a point with some contacts closed that were open, and open that were closed."""
        state = self.state(self.found, point)
        self._failed, self._singular = self.failed, self.singular
        self.closed = self.closed ^ changes
        self.found = self._system(self.closed)
        inner = with_multipliers(self.contacts, self.found, state)
        point = Point(point.x, point.R, inner.u, inner.multipliers, point.load)
        equations = Equations(self.found.system, self.loading)
        evaluation = equations.evaluate(point)
        values = tangent.assemble(equations.system, equations.entries(evaluation, equations.force_factor))
        handle_repeated(equations.system, evaluation, values, f"at load factor {point.load:g}")
        self._follow(equations, point)
