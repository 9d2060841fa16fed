"""The non-smooth generalised-alpha method: closed contacts in the smooth step, impacts where they happen.

One step is

1. smooth: the step of the stabilised generalised-alpha method, in which contacts that touch obey Signorini's law on
   positions and velocities, and Coulomb's (``smooth.py``, ``equations.py``);
2. if an open contact ends with a depth, the step ends where it meets instead, to rounding (``watch.py``); there
   impulses follow from Newton's and Coulomb's laws, forces from the same laws for accelerations (``impact.py``), and
   the rest of the step begins anew. At most ``locate`` times: of a part with impacts at more instants than are left,
   what is too deep is pushed out, and the impulse acts at its end.

The family: Chen, Acary, Virlez, Bruels, IJNME 96 (2013); Bruels, Acary, Cardona, CMAME 281 (2014) with positions and
velocities. There contacts are impulses alone, of order 1; here closed ones are in the smooth part, and impacts are
located: of order 2 in positions, in closed contact in velocities and forces, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.local_error import worst
from fem_mbs.alpha.starting_values import step_matrix
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.complementarity import inverse
from fem_mbs.contact.contacts import Contacts, Selection, contacts_of
from fem_mbs.contact.energy import energy_at
from fem_mbs.contact.impact import errors_after, errors_of_late, mobility_by_mass, placed, remembered, settled, strike
from fem_mbs.contact.memory import ContactMemory, Smooth, Standing, Watch
from fem_mbs.contact.smooth import (
    CROWDED,
    EULER_BELOW,
    balanced,
    begun,
    begun_with_forces,
    ended,
    far_step,
    frame,
    smooth_part,
    touched_by,
    touching,
    turned,
)
from fem_mbs.contact.touching import once
from fem_mbs.contact.watch import after_jump, after_way, hits, located, stopped
from fem_mbs.contracts import Method, NotNegative, Report, State, Step, checked
from fem_mbs.contracts.arguments import UnitInterval, listed
from fem_mbs.contracts.unilateral import TIME, TOUCHING
from fem_mbs.initial.state_point import BETWEEN, refuse_deep
from fem_mbs.newton import FAILURES, Newton, NotConvergedError
from fem_mbs.system.system import System

RESTING = 1e-3
"""Speed of approach of which nothing comes back, of the largest that the contact has seen."""
SEVERAL = 2.0
"""Parts that are tried in a step in the mean, above which a run warns."""
LEFT_OVER = 1e-9
"""Share of a step that is not worth a part."""
GAINED = 1e-3
"""Energy of the motion that steps may gain before a run warns."""
OFTEN = 0.1
"""Share of steps with impacts that were not located above which a run warns."""


@checked
@dataclass(frozen=True)
class NonsmoothAlpha(Method):
    """The non-smooth generalised-alpha method, for models with rigid contacts, stops and ropes.

    Parameters
    ----------
    rho_inf : float
        Spectral radius at infinite frequency, in [0, 1].
    locate : int
        At so many instants at most impacts are located in a step. Where they come at more, none of them is: they act
        at its end, at a small part of the cost.
    rest_speed : float, optional
        Speed of approach in m/s (rad/s) below which nothing comes back, which ends ever smaller bounces; by default
        0.001 of the largest one that the contact has seen.
    newton : Newton
        Options of Newton's method.

    Notes
    -----
    Of order 2 in positions; in closed contact in velocities and forces, too. Without contacts it is
    ``GeneralizedAlpha(rho_inf)``.
    """

    order: ClassVar[int] = 2
    error_order: ClassVar[int] = 3
    levels: ClassVar[tuple[str, ...]] = ("position", "velocity")
    impacts: ClassVar[bool] = True
    Memory: ClassVar[type] = ContactMemory

    rho_inf: UnitInterval = 0.8
    locate: int = 4
    rest_speed: NotNegative | None = None
    newton: Newton = field(default_factory=Newton)

    @cached_property
    def smooth_method(self) -> GeneralizedAlpha:
        """The method of the smooth part."""
        return GeneralizedAlpha(self.rho_inf, newton=self.newton)

    @property
    def turning(self) -> float:  # type: ignore[override]
        return self.smooth_method.turning

    def settle(self, system: System, state: State) -> State:
        """Contact forces, and impacts of what approaches where it touches, or is as deep as between steps."""
        contacts = contacts_of(system)
        if not contacts.count:
            return state
        gaps = contacts.gaps(system.motion(state))
        if len(contacts.within(gaps, -BETWEEN)):
            refuse_deep(system, system.motion(state))
        touches = once(contacts, state, gaps <= TOUCHING * contacts.size)
        own = Selection(contacts, touches)
        slow = own.still(state, np.inf)
        rates = own.here(state).rates()
        if (rates[:, 0] < -slow).any():
            state = strike(contacts, state, own, rates, contacts.restitution[own.numbers])
            rates = own.here(state).rates()
        touches[own.numbers] = rates[:, 0] <= slow
        return settled(contacts, state, touches, np.inf)

    def init(self, system: System, state: State, h: float) -> ContactMemory:
        """From a state with its contact forces."""
        contacts = contacts_of(system)
        closed = touching(contacts, state, h, contacts.gaps(system.motion(state)))
        stepper, inner, touches = frame(contacts, self.smooth_method, state, closed)
        watch = Watch(np.full(contacts.elements, -np.inf))
        return ContactMemory(
            stepper.init(contacts.open, inner, h), touches, closed, np.zeros(contacts.count), watch, longest=h
        )

    def after_jump(self, system: System, before: State, state: State, h: float, memory: ContactMemory) -> ContactMemory:
        """From a state with its contact forces, after loads have jumped."""
        contacts = contacts_of(system)
        touches = touching(contacts, state, h, contacts.gaps(system.motion(state)))
        memory = memory._replace(watch=Watch(np.full(contacts.elements, -np.inf)))
        return begun(contacts, self.smooth_method, Standing(state, memory), touches, h)

    def carrying(self, system: System, state: State, memory: ContactMemory) -> ContactMemory:
        """From contact to contact as by the smooth method, and through impacts."""
        contacts = contacts_of(system)
        alpha = self.smooth_method.carrying(contacts.open, contacts.without(state), memory.alpha)
        if alpha.errors is not None:  # impacts jump by the whole of them
            alpha = alpha._replace(errors=alpha.errors._replace(late=None))
        return memory._replace(alpha=alpha)

    def missing(self, system: System, state: State, memory: ContactMemory, velocities: Array) -> ContactMemory:
        alpha = self.smooth_method.missing(contacts_of(system).open, state, memory.alpha, velocities)
        return memory._replace(alpha=alpha)

    def carried(self, system: System, state: State, memory: ContactMemory) -> Array | None:
        return self.smooth_method.carried(contacts_of(system).open, state, memory.alpha)

    def warning(self, system: System, state: State, memory: ContactMemory) -> str:
        """Impacts that were not located, and steps that gained energy."""
        contacts, texts = contacts_of(system), []
        if memory.unlocated > OFTEN * memory.steps:
            texts.append(
                f"in {memory.unlocated} of {memory.steps} steps impacts acted at the end, where the method is of order "
                f"1: they were more than locate = {self.locate}, or it had been in vain to locate those before; try a "
                "smaller step, or a larger locate"
            )
        if memory.damped > OFTEN * memory.steps:
            texts.append(
                f"{memory.damped} parts of {memory.steps} steps had gained energy, or had no solution, and were made "
                "anew with the damping of Euler's implicit method: what impacts set off is not resolved; try a smaller "
                "step, or contacts that yield"
            )
        tries = memory.search.tried
        if (tried := int(tries.sum())) > SEVERAL * memory.steps:
            part, most = contacts.named(int(tries.argmax()))[0], int(tries.max())
            texts.append(
                f"most of the time went into {tried} trials in {memory.steps} steps of when contacts close or stop to "
                f"slide, {most} of them for {part}: try NonsmoothAlpha(locate=0), which is of order 1 there, or a "
                "contact that yields"
            )
        if contacts.count:
            balance = memory.balance
            if balance.most > GAINED * balance.motion:
                part, place = contacts.named(balance.where)
                texts.append(
                    f"{part}: steps in contact have gained {balance.most:.3g} J that no force brought, at the end "
                    f"with its {part.contacts[place]} closed: try a smaller step"
                )
        return "; ".join(texts)

    def step(self, system: System, state: State, h: float, memory: ContactMemory) -> Step:
        """One step, in parts from impact to impact where something is near."""
        contacts: Contacts = system.contacts or contacts_of(system)
        try:
            far = far_step(contacts, self.smooth_method, state, h, memory)
            return far or self._in_parts(contacts, Standing(state, memory), h)
        except NotConvergedError as failure:  # its equations may be those of another system
            closed, slides = memory.closed, memory.closed & contacts.at_edge(state)
            text = str(failure)
            for marked, what in ((closed & ~slides, "closed"), (slides, "closed and sliding")):
                if marked.any():
                    parts = dict.fromkeys(contacts.named(c)[0] for c in np.flatnonzero(marked).tolist())
                    text += f"; {what} where it began: {listed(parts)}"
            raise NotConvergedError(text, failure.report) from None

    def _in_parts(self, contacts: Contacts, point: Standing, h: float) -> Step:
        method, end, left, error, tried = self.smooth_method, point.state.t + h, h, 0.0, 0
        report: Report | None = None
        memory, search = point.memory, point.memory.search
        most, tries = 0 if search.pause else self.locate, search.tried

        def part(tau: float, near: Smooth | None = None) -> Smooth:
            nonlocal tried
            tried += 1
            return smooth_part(contacts, method, begin, tau, near)

        while True:
            begin, tried, stops = point, 0, None
            smooth = whole = part(left)
            smooth, hit, there = _met(contacts, part, begin, smooth, most)
            gone = smooth.point.state.t - begin.state.t
            if most and (hit is None or there) and (stops := turned(contacts, smooth, gone)) is not None:
                smooth = stopped(contacts, part, begin, smooth, stops)
                smooth, hit, there = _met(contacts, part, begin, smooth, most)
                gone = smooth.point.state.t - begin.state.t
            if tried > 1 and (found := stops if hit is None else hit == hit.min()) is not None:
                tries = np.append(tries, np.zeros(contacts.count - len(tries)))
                tries[found.argmax()] += tried - 1
            left = 0.0 if smooth is whole else left - gone
            if hit is None:
                point = ended(contacts, method, smooth, h)
            elif there:
                point = self._struck(contacts, begin, smooth, h)
            else:
                point = self._unlocated(contacts, begin, smooth, hit, h)
            error = max(error, smooth.error)
            report = smooth.report if report is None else _both(report, smooth.report)
            if left <= LEFT_OVER * h:
                break
            most = most - 1 if gone > CROWDED * h else 0
        after = point.memory
        search = search.after(tries, (after.damped, after.unlocated) != (memory.damped, memory.unlocated))
        memory = after._replace(steps=after.steps + 1, longest=max(after.longest, h), search=search)
        return Step(point.state if point.state.t == end else point.state.at(end), memory, report, error)

    def between(self, system: System, first: State, second: State, share: float) -> State:
        """A state within a step; where there was an impact, on from the start or back from the end.

        The cubic of other steps would overshoot into what was hit.
        """
        contacts = contacts_of(system)
        times = contacts.carried(second)[1][:, TIME]
        hit = times[(times > first.t) & (times <= second.t)]
        if not len(hit):
            return system.interpolate(first, second, share)
        t = first.t + share * (second.t - first.t)
        near = first if t < hit.max() else second
        dt = t - near.t
        D = dt * near.v + 0.5 * dt * dt * near.vdot
        x, R = system.kinematics.retract(near.x, near.R, D)
        du = np.where(system.order > 0, dt * near.udot + 0.5 * dt * dt * near.uddot, 0.0)
        return replace(near, t=t, x=x, R=R, v=near.v + dt * near.vdot, u=near.u + du)

    # impacts

    def _unlocated(self, contacts: Contacts, begin: Standing, smooth: Smooth, hit: Array, h: float) -> Standing:
        """After a part with more impacts than are located: these act at its end."""
        if (hit < 1.0).any():
            part, place = contacts.named(int(hit.argmin()))
            raise NotConvergedError(
                f"{part}: more impacts than are located in a step, and its {part.contacts[place]} would be passed "
                "through: try a smaller step"
            )
        try:
            point = self._pushed_out(contacts, begin, smooth, h)
        except FAILURES:
            closed = self._closed(contacts, begin, smooth, hit)
            if closed is None:
                raise
            point = ended(contacts, self.smooth_method, closed, h)
        return Standing(point.state, point.memory._replace(unlocated=begin.memory.unlocated + 1))

    def _closed(self, contacts: Contacts, begin: Standing, smooth: Smooth, hit: Array | None) -> Smooth | None:
        """The same part, with all that it hits closed at its end by forces; None if something comes back or is passed.

        What is stiff is not deformed by it, as it is where one of its nodes is pushed out.
        """
        first, free, memory = begin.state, smooth.point.state, begin.memory
        while hit is not None:
            new = np.isfinite(hit)
            if (hit < 1.0).any() or contacts.restitution[new].any():
                return None
            touches = once(contacts, smooth.point.state, memory.touches | new)
            memory = touched_by(memory, touches)._replace(closed=memory.closed | new)
            point = Standing(first, memory)
            try:
                smooth = smooth_part(contacts, self.smooth_method, point, free.t - first.t)
            except FAILURES:
                return None
            if smooth.impulsive:
                return None
            hit = hits(contacts, point, smooth)
        (state, memory), approach = smooth.point, begin.memory.approach.copy()
        own = Selection(contacts, memory.touches & ~begin.memory.closed & contacts.pushing(state))
        # the impulses that make of velocities without these forces those with them
        at, rates = own.here(state), own.here(free).rates()
        change, P = at.rates() - rates, np.zeros_like(rates)
        acts = np.column_stack(np.broadcast_arrays(True, *2 * [own.friction > 0.0]))
        P[acts] = inverse(mobility_by_mass(contacts, state, at).delassus[acts.ravel()][:, acts.ravel()])(change[acts])
        u = remembered(contacts, state, own.numbers, P, rates + 0.5 * change)
        approach[own.numbers] = np.maximum(approach[own.numbers], -rates[:, 0])
        return smooth._replace(point=Standing(replace(state, u=u), memory._replace(approach=approach)))

    def _struck(self, contacts: Contacts, begin: Standing, smooth: Smooth, h: float) -> Standing:
        """After the impulses of all that touch."""
        gap = smooth.point.memory.watch.gap
        if gap is None:
            return smooth.point
        touches, point = contacts.marked(contacts.within(gap, TOUCHING)), smooth.point
        return self._impulses(contacts, begin.memory.closed, point, touches, point.state, h)

    def _pushed_out(self, contacts: Contacts, begin: Standing, smooth: Smooth, h: float) -> Standing:
        """Places without depth at the end of a step, then impulses, with the rates before the step."""
        (state, memory), near = smooth.point, smooth.point.memory.watch.near
        assert near is not None
        metric = step_matrix(contacts.open, contacts.without(state), h, self.smooth_method.coefficients)
        before = state
        while True:
            state, pushed = placed(contacts, before, near, metric)
            until = after_way(contacts, memory.watch, before, state)
            wider = near | (until <= state.t)  # what has been pushed out may have come too near to others
            gaps = contacts.gaps(contacts.system.motion(state), wider)
            inside = contacts.within(gaps, -TOUCHING)
            if not len(inside) or (wider == near).all():
                break
            near = wider
        if len(inside):
            part, place = contacts.named(int(gaps.argmin()))
            raise NotConvergedError(f"{part}: its {part.contacts[place]} is too deep, and cannot be pushed out")
        pushed[contacts.within(gaps, TOUCHING)] = True
        watch = Watch(until, limits=memory.watch.limits)
        moved = Standing(state, memory._replace(watch=watch))
        # what has pressed in the part while it had not been hit elsewhere may press less
        given = 0.5 * (before.t - begin.state.t) * (contacts.forces(begin.state) + contacts.forces(before))
        struck = self._impulses(contacts, begin.memory.closed, moved, pushed, begin.state, h, given)
        if (errors := struck.memory.alpha.errors) is not None:
            values, which = errors.values.copy(), Selection(contacts, once(contacts, state, pushed))
            values[:2] += errors_of_late(begin.state, before, state, struck.state, which, h=h, given=given)
            alpha = struck.memory.alpha._replace(errors=errors._replace(values=values))
            struck = struck._replace(memory=struck.memory._replace(alpha=alpha))
        lost = float((struck.state.u - state.u)[contacts.losses].sum())
        judged, gains = balanced(contacts, begin, moved, lost)  # impulses of drives may bring some
        if gains and h > EULER_BELOW * memory.longest:
            raise NotConvergedError("what is stiff has come too deep: to push it out brings energy")
        balance = judged.memory.balance._replace(energy=struck.memory.balance.energy)
        return Standing(struck.state, struck.memory._replace(balance=balance))

    @np.errstate(over="ignore", invalid="ignore")
    def _impulses(
        self,
        contacts: Contacts,
        closed: BoolArray,
        point: Standing,
        touches: BoolArray,
        first: State,
        h: float,
        given: Array | None = None,
    ) -> Standing:
        """After impulses of all that touch, whose rates before are those of the ``first`` state.

        Impulses that forces have ``given`` (C, 3) may be taken back. Of those that were closed nothing comes back. The
        smooth part begins anew with forces of what does not part.
        """
        (state, memory), every = point, Selection(contacts, touches)
        rates, approach = every.here(first).rates(), memory.approach.copy()
        approach[every.numbers] = np.maximum(approach[every.numbers], -rates[:, 0])
        places = once(contacts, state, touches)
        which = Selection(contacts, places)
        own, rates = which.numbers, rates[places[every.numbers]]
        rest = RESTING * approach[own] if self.rest_speed is None else self.rest_speed
        elastic = ~closed[own] & (-rates[:, 0] > rest)
        back = np.where(elastic, contacts.restitution[own], 0.0)
        taken = 0.0 if given is None else given[own]
        before, state = state, strike(contacts, state, which, rates, back, given=taken)
        memory = memory._replace(approach=approach, watch=after_jump(contacts, memory.watch, before, state))
        state, memory = begun_with_forces(contacts, self.smooth_method, Standing(state, memory), touches, h)
        energy, alpha = energy_at(contacts.open, contacts.without(state)), memory.alpha
        if (errors := alpha.errors) is not None:
            values = errors_after(before, state, which, back, errors.values, rates=rates, given=taken)
            largest = np.maximum(errors.largest, [[0.0], [0.0], [1.0]] * worst(contacts.open, errors.values[0]))
            # rounds are between impacts
            alpha = alpha._replace(errors=errors._replace(values=values, largest=largest, turned=0.0))
        return Standing(state, memory._replace(alpha=alpha, balance=memory.balance._replace(energy=energy)))


def _met(
    contacts: Contacts, part: Callable[[float, Smooth], Smooth], begin: Standing, smooth: Smooth, most: int
) -> tuple[Smooth, Array | None, bool]:
    """A part up to the first impact in it, what is hit, and whether it ends there: not of more than ``most``."""
    hit, there = hits(contacts, begin, smooth), None
    if hit is not None and not smooth.impulsive:
        there = located(contacts, part, begin.state, smooth, hit, most=most)
    return there or smooth, hit, there is not None


def _both(first: Report, second: Report) -> Report:
    """Of a step in two parts."""
    counts = {name: getattr(first, name) + getattr(second, name) for name in ("iterations", "evaluations")}
    return replace(second, factorizations=first.factorizations + second.factorizations, **counts)
