"""The non-smooth generalised-alpha method: closed contacts in the smooth step, impacts where they happen.

One step is

1. smooth: the step of the stabilised generalised-alpha method, in which contacts that stay closed are equations on both
   levels (``closed.py``); where one would pull, it opens; where friction leaves its cone, it slides; where slip would
   reverse, it sticks;
2. if an open contact ends with a depth, the step ends where it meets instead, to rounding; there impulses follow from
   Newton's and Coulomb's laws, forces from the same laws for accelerations (``impact.py``), and the rest of the step
   begins anew. At most ``locate`` times: then what is too deep is pushed out, and the impulse acts at the step's end.

The family: Chen, Acary, Virlez, Bruels, IJNME 96 (2013); Bruels, Acary, Cardona, CMAME 281 (2014) with positions and
velocities. There contacts are impulses alone, of order 1; here closed ones are in the smooth part, and impacts are
located: of order 2 in positions, in closed contact in velocities and forces, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.alpha.memory import AlphaMemory, named
from fem_mbs.alpha.starting_values import step_matrix
from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contact.closed import OPEN, SLIDES, STICKS, ClosedSystem
from fem_mbs.contact.energy import Gain, gained
from fem_mbs.contact.impact import LEFT, Contacts, Instant, placed, settled, shared, strike, surplus
from fem_mbs.contracts import Method, NotNegative, Report, State, Step, UnitInterval, checked
from fem_mbs.contracts.unilateral import FORCES, IMPULSES, TIME, TOUCHING, WORK
from fem_mbs.errors import ModelError
from fem_mbs.newton import Newton, NotConvergedError
from fem_mbs.system.system import System

DEEP = 1e-11
"""Depth that is rounding, over the extent of the model."""
STILL, STILL_STEP = 1e-9, 1e-10
"""Speed that counts as none: of the largest speed, and of the extent in a step."""
RESTING = 1e-3
"""Speed of approach of which nothing comes back, of the largest that the contact has seen."""
SLACK = 1e-8
"""Of paths, over the extent of the model: gaps that close on less are near."""
ROOTS = 30
ROUNDS = 8
"""How often a smooth step is repeated because contacts change, beside once for each of them."""
TURNS, ALONG = 6, 1e-6
"""How often the direction of slips is found anew, and its change that is none."""
LEFT_OVER = 1e-9
GROWTH = 1.5
"""After a step that was shorter by this factor the smooth part begins anew: impacts have set off vibrations."""
SHORTER = 0.25
"""Share of the longest step: one without a solution is halved first, and made by Euler's method from there on."""
GAINED = 1e-3
"""Energy of the motion that steps may gain before a run warns."""
OFTEN, GAIN = 0.1, 1e-6
"""Share of steps with impacts that were not located, and of energies of impacts, above which a run warns."""

_CONTACTS: WeakKeyDictionary[System, Contacts] = WeakKeyDictionary()


def contacts_of(system: System) -> Contacts:
    """The contacts of a system, numbered once."""
    if system not in _CONTACTS:
        _CONTACTS[system] = Contacts(system)
    return _CONTACTS[system]


class ContactMemory(NamedTuple):
    """What the method goes on with."""

    alpha: AlphaMemory
    """That of the smooth part."""
    status: IntArray
    """What each contact does, ``(C,)``."""
    slides: Array
    """Directions in which contacts begin to slide, ``(C, 2)``; NaN of others."""
    approach: Array
    """The largest speed of approach that each has seen, ``(C,)``."""
    clear: Array
    """Paths in m on which the fastest point closes no gap of each element, ``(E,)``."""
    speed: float = 0.0
    """Of that point, m/s."""
    unlocated: int = 0
    """Steps so far that had more impacts than were located."""
    steps: int = 0
    """Steps so far."""
    damped: int = 0
    """Smooth steps so far that were taken anew, with damping: they had gained energy, or had no solution."""
    rise: float = 0.0
    """Energy in J that steps in contact have gained since they last had lost as much."""
    most: float = 0.0
    """The largest rise so far, J."""
    motion: float = 0.0
    """The largest energy of the motion so far in contact, kinetic and of strain, J."""
    where: int = 0
    """The contact that pushed most as the largest rise was reached."""
    brought: float = 0.0
    """Energy of impacts that have brought some, J."""
    longest: float = 0.0
    """The longest step so far, s."""


class Standing(NamedTuple):
    """Where a step stands."""

    state: State
    memory: ContactMemory


class Revised(NamedTuple):
    """What contacts should do instead."""

    state: State
    """With forces that obey the laws, where they repeat each other."""
    status: IntArray | None
    """None where they did."""
    slides: Array


class Smooth(NamedTuple):
    """A smooth step."""

    point: Standing
    report: Report
    error: float
    gap: Array | None = None
    """At its end ``(C,)``; None where nothing comes near."""
    near: BoolArray | None = None
    """Elements ``(E,)`` whose gaps may have closed; others have gaps without end."""
    impulsive: bool = False
    """Whether contacts that touch are left to impulses, because no forces of them hold for the step."""
    gain: Gain | None = None
    """Energy that it has gained, where it was watched."""


@checked
@dataclass(frozen=True)
class NonsmoothAlpha(Method):
    """The non-smooth generalised-alpha method, for models with rigid contacts, stops and ropes.

    Parameters
    ----------
    rho_inf : float
        Spectral radius at infinite frequency, in [0, 1].
    locate : int
        So many impacts at most are located in a step; those beyond act at its end.
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

    def settle(self, system: System, state: State) -> State:
        """Contact forces, and impacts of what approaches where it touches."""
        contacts = contacts_of(system)
        if not contacts.count:
            return state
        instant = contacts.at(state)
        depth = -instant.gap / system.length
        if depth.max() > TOUCHING:
            part, place = contacts.names[int(depth.argmax())]
            raise ModelError(
                f"{part}: its {part.contacts[place]} is {-instant.gap.min():.3g} m (rad) deep at t = {state.t:g} s; "
                "place the bodies so that they touch at most"
            )
        touching, rates = depth >= -TOUCHING, instant.rates()
        still = self._still(system, state, system.length * STILL_STEP)
        if (touching & (rates[:, 0] < -still)).any():
            state, _, _ = strike(contacts, state, rates, touching, contacts.restitution)
            rates = contacts.at(state).rates()
        return settled(contacts, state, touching & (rates[:, 0] <= still), still).state

    def init(self, system: System, state: State, h: float) -> ContactMemory:
        """From a state with its contact forces."""
        contacts = contacts_of(system)
        status, slides = self._status(contacts, state, self._still(system, state, h))
        closed = self._closed(contacts, state, status, slides)
        alpha = self.smooth_method.init(closed.system, with_multipliers(contacts, closed, state), h)
        none = np.zeros(contacts.count), np.zeros(contacts.elements)
        return ContactMemory(alpha, status, slides, *none, longest=h)

    def after_jump(self, system: System, before: State, state: State, h: float, memory: ContactMemory) -> ContactMemory:
        """From a state with its contact forces, after loads have jumped."""
        memory = memory._replace(clear=np.zeros_like(memory.clear))
        return self._begun(contacts_of(system), state, h, memory)

    def warning(self, system: System, state: State, memory: ContactMemory) -> str:
        """Impacts that were not located, and that brought energy."""
        contacts, texts = contacts_of(system), []
        if memory.unlocated > OFTEN * memory.steps:
            texts.append(
                f"{memory.unlocated} of {memory.steps} steps had more impacts than are located in one, where the "
                "method is of order 1: try a smaller step"
            )
        if memory.damped > OFTEN * memory.steps:
            texts.append(
                f"{memory.damped} parts of {memory.steps} steps had gained energy, or had no solution, and were made "
                "anew with the damping of Euler's implicit method: what impacts set off is not resolved; try a smaller "
                "step, or contacts that yield"
            )
        if contacts.count:
            if memory.most > GAINED * memory.motion:
                part, place = contacts.names[memory.where]
                texts.append(
                    f"{part}: steps in contact have gained {memory.most:.3g} J that no force brought, at the end "
                    f"with its {part.contacts[place]} closed: try a smaller step"
                )
            took = state.u[contacts.carried[:, WORK]]
            came = np.abs(state.u[contacts.carried[:, IMPULSES][:, 0]]) * memory.approach
            if memory.brought > GAIN * max(float(np.abs(took).max()), float(came.max())):
                part, place = contacts.names[int(took.argmin())]
                texts.append(
                    f"{part}: impacts in its {part.contacts[place]}, and what was hit with it, have brought "
                    f"{memory.brought:.3g} J: Newton's law of restitution does so where bodies are hit while they "
                    "slide, or in several points at once; try less restitution"
                )
        return "; ".join(texts)

    def step(self, system: System, state: State, h: float, memory: ContactMemory) -> Step:
        """One step, in parts from impact to impact."""
        try:
            return self._in_parts(system, state, h, memory)
        except NotConvergedError as failure:  # its equations may be those of another system
            raise NotConvergedError(str(failure), failure.report) from None

    def _in_parts(self, system: System, state: State, h: float, memory: ContactMemory) -> Step:
        contacts = contacts_of(system)
        if type(memory.alpha) is tuple:
            memory = memory._replace(alpha=named(AlphaMemory(*memory.alpha)))
        end, left, point, error = state.t + h, h, Standing(state, memory), 0.0
        report: Report | None = None
        for located in range(self.locate + 1):
            smooth = self._smooth(contacts, point, left)
            if smooth.gap is None and report is None:
                point, report, error = smooth.point, smooth.report, smooth.error
                break
            hits = self._hits(contacts, point.state, smooth, left)
            if hits.any() and located < self.locate and not smooth.impulsive:
                smooth, left = self._located(contacts, point, smooth, hits, left)
                done = left <= LEFT_OVER * h
                smooth = smooth._replace(point=self._told(contacts, smooth.point, smooth.gain))
                point = self._struck(contacts, smooth, max(left, LEFT_OVER * h))
            else:
                begin, point, gain, done = point, smooth.point, smooth.gain, True
                if hits.any():
                    point = self._pushed_out(contacts, begin.state, point, smooth.near, h)
                    gain = self._gained(contacts, begin, point)
                point = self._told(contacts, point, gain)
            error = max(error, smooth.error)
            report = smooth.report if report is None else _both(report, smooth.report)
            if done:
                break
        assert report is not None
        memory = point.memory._replace(steps=point.memory.steps + 1, longest=max(point.memory.longest, h))
        return Step(point.state.at(end), memory, report, error)

    def between(self, system: System, first: State, second: State, share: float) -> State:
        """A state within a step; where there was an impact, on from the start or back from the end.

        The cubic of other steps would overshoot into what was hit.
        """
        contacts = contacts_of(system)
        times = second.u[contacts.carried[:, TIME]]
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

    # the smooth part

    def _smooth(self, contacts: Contacts, point: Standing, h: float) -> Smooth:
        """A step without contacts, where none can close in it, or as :meth:`_in_contact`."""
        system, memory = contacts.system, point.memory
        if not contacts.count:
            step = self.smooth_method.inner_step(system, point.state, h, memory.alpha)
            return Smooth(Standing(step.state, memory._replace(alpha=step.memory)), step.report, step.error or 0.0)
        slack = SLACK * system.length
        if memory.clear.min() <= slack:
            return self._watched(contacts, point, h)
        inner = contacts.without(point.state)
        alpha = self._starting(contacts.open, inner, h, memory.alpha)
        step = self.smooth_method.inner_step(contacts.open, inner, h, alpha)
        speed = _fastest(system, step.state)
        clear = memory.clear - 2.0 * h * max(speed, memory.speed)
        if clear.min() <= slack:
            return self._watched(contacts, point, h, step)
        state = contacts.carry_on(point.state, step.state)
        memory = memory._replace(alpha=step.memory, clear=clear, speed=speed)
        return Smooth(Standing(state, memory), contacts.report(step.report), step.error or 0.0)

    def _watched(self, contacts: Contacts, point: Standing, h: float, ahead: Step | None = None) -> Smooth:
        """A step in contact; if it gains energy that nothing brought, one of Euler's implicit method in its place.

        So, too, if it has no solution and has been halved already; where that has none either, all contacts are left
        to impulses at its end.
        """
        try:
            smooth = self._in_contact(contacts, point, h, ahead)
            gain = self._gained(contacts, point, smooth.point)
            if not gain.more:
                return smooth._replace(gain=gain)
        except NotConvergedError:
            if h > SHORTER * point.memory.longest:
                raise
        try:
            smooth = self._in_contact(contacts, point, h, damped=True)
        except NotConvergedError:
            smooth = self._in_contact(contacts, point, h, damped=True, impulsive=True)
        memory = smooth.point.memory
        damped = smooth.point._replace(memory=memory._replace(damped=memory.damped + 1))
        return smooth._replace(point=damped, gain=self._gained(contacts, point, damped))

    @staticmethod
    def _gained(contacts: Contacts, first: Standing, last: Standing) -> Gain:
        return gained(contacts.open, contacts.without(first.state), contacts.without(last.state))

    @staticmethod
    def _told(contacts: Contacts, last: Standing, gain: Gain | None) -> Standing:
        """With what a part of a step has gained."""
        if gain is None:
            return last
        memory, rise = last.memory, max(0.0, last.memory.rise + gain.all)
        memory = memory._replace(rise=rise, motion=max(memory.motion, gain.motion))
        if rise > memory.most:
            where = int(last.state.u[contacts.carried[:, FORCES]][:, 0].argmax())
            memory = memory._replace(most=rise, where=where)
        return last._replace(memory=memory)

    def _in_contact(
        self,
        contacts: Contacts,
        point: Standing,
        h: float,
        ahead: Step | None = None,
        damped: bool = False,
        impulsive: bool = False,
    ) -> Smooth:
        """A step after which closed contacts push, stick and slide as they should; ``ahead`` is one with all open.

        If ``damped``, one of Euler's implicit method: there the force of a contact is its impulse in the whole step. If
        ``impulsive``, all are open in it, whatever becomes of them.
        """
        system, memory = contacts.system, point.memory
        slack, near = SLACK * system.length, np.zeros(contacts.elements, np.bool_)
        # accelerations at the start are those of what contacts do there, whatever they do in the step
        closed = self._closed(contacts, point.state, memory.status, memory.slides)
        inner = with_multipliers(contacts, closed, point.state)
        method = self.smooth_method
        if damped:
            method, alpha = method.euler(closed.system, inner, h)
        else:
            alpha = self._starting(closed.system, inner, h, memory.alpha)
        memory = memory._replace(alpha=alpha)
        status, slides = memory.status, memory.slides
        may_stick, seen = memory.status == SLIDES, set[bytes]()
        left_out, reverses = np.zeros((2, contacts.count), np.bool_)
        if impulsive:
            left_out, status = ~left_out, np.full_like(status, OPEN)
        for _ in range(ROUNDS + 2 * contacts.count):
            if (tried := status.tobytes() + reverses.tobytes()) in seen:  # no such forces: a paradox of Painleve
                left_out |= status != memory.status
                status = np.where(left_out, OPEN, status)
            seen.add(tried)
            closed = self._closed(contacts, point.state, status, slides)
            if status is not memory.status:
                alpha = memory.alpha._replace(predictor=None, convergence=None, matrix=None)
            try:
                inner = with_multipliers(contacts, closed, point.state)
                step = ahead or self._stepped(method, contacts, point.state, closed, inner, h, alpha)
                ahead = None
            except NotConvergedError:
                slips = (status == SLIDES) & (contacts.friction > 0.0)
                held = (status == STICKS) & (memory.status == SLIDES) & ~reverses
                if held.any():  # what goes through its dead centre: no force of friction holds it
                    reverses |= held
                    status = np.where(held, SLIDES, status)
                    continue
                if not slips.any():
                    raise
                started = contacts.at(point.state, contacts.touched(status != OPEN))
                stops = self._stops(contacts, started, status, h) & may_stick
                if stops.any():  # the slip comes to its end
                    status, slides = np.where(stops, STICKS, status), slides.copy()
                    slides[stops] = np.nan
                    may_stick &= ~stops
                else:
                    left_out |= slips
                    status = np.where(left_out, OPEN, status)
                continue
            state = _outer(contacts, closed, point.state, step.state)
            motion = system.motion(state)
            clear = memory.clear - 2.0 * h * max(_fastest(system, state), memory.speed)
            near |= (clear <= slack) | contacts.touched(status != OPEN)
            gaps = contacts.gaps(motion, near)
            deep = (gaps < -DEEP * system.length) & ~left_out
            if not (status.any() or deep.any()):
                break
            started = contacts.at(point.state, contacts.touched(deep | (status != OPEN)))
            before_step = np.where(reverses, OPEN, memory.status)
            found = self._revised(contacts, started, closed, state, status, slides, deep, h, before_step)
            state, slides = found.state, found.slides
            if found.status is None:
                break
            status = found.status
        else:
            raise NotConvergedError("contacts change between open and closed, or between stick and slip, without end")
        clear = contacts.clearance(motion, gaps, near, clear)
        memory = memory._replace(alpha=step.memory, slides=slides, clear=clear, speed=_fastest(system, state))
        result = Standing(state, memory._replace(status=status))
        began = (status == STICKS) & (point.memory.status == SLIDES) | (status != OPEN) & (point.memory.status == OPEN)
        ended = (status != OPEN) & (gaps > TOUCHING * system.length)  # beyond the end of a face or an edge
        if damped or (began | ended).any():
            result = self._settled(contacts, result, (status != OPEN) & ~ended, h)
        return Smooth(result, contacts.report(step.report), step.error or 0.0, gaps, near, bool(left_out.any()))

    def _stepped(
        self,
        method: GeneralizedAlpha,
        contacts: Contacts,
        first: State,
        closed: ClosedSystem,
        inner: State,
        h: float,
        alpha: AlphaMemory,
    ) -> Step:
        """A step of what contacts do; where Newton's method fails as slip turns, with one direction after the other."""
        try:
            return method.inner_step(closed.system, inner, h, alpha)
        except NotConvergedError:
            if not closed.sliding:
                raise
        before = contacts.at(first, contacts.touched(closed.contacts)).rates()[:, 1:]
        still = self._still(contacts.system, first, h)
        step: Step | None = None
        for _ in range(TURNS):
            turned = 0.0
            for batch, numbers in closed.sliding:
                speed = np.linalg.norm(before[numbers], axis=1)
                moves, last = speed > still, batch.fallback
                batch.held, batch.fallback = True, last.copy()
                batch.fallback[moves] = before[numbers][moves] / speed[moves, None]
                turned = max(turned, float(np.abs(batch.fallback - last).max()))
            if step is not None and turned < ALONG:
                break
            step = method.inner_step(closed.system, inner, h, alpha)
            after = contacts.at(contacts.carry_on(first, step.state), contacts.touched(closed.contacts)).rates()[:, 1:]
            if any(((after[n] * batch.fallback).sum(axis=1) < 0.0).any() for batch, n in closed.sliding):
                break  # its slip has ended
            before = after
        assert step is not None
        return step

    def _revised(
        self,
        contacts: Contacts,
        started: Instant,
        closed: ClosedSystem,
        state: State,
        status: IntArray,
        slides: Array,
        deep: BoolArray,
        h: float,
        before_step: IntArray,
    ) -> Revised:
        """What contacts should have done in a step.

        One whose slip ends in the step sticks at its end, whatever its cone: only then does it begin to stick.
        """
        stopped = (status == STICKS) & (before_step == SLIDES)
        mu, forces = contacts.friction, state.u[contacts.carried[:, FORCES]]
        still = self._still(contacts.system, state, h)
        result, slides = status.copy(), slides.copy()
        pulls = (status != OPEN) & (forces[:, 0] < -1e-10 * max(np.abs(forces).max(initial=0.0), 1e-300))
        size = np.linalg.norm(forces[:, 1:], axis=1)
        slips = (status == STICKS) & ~stopped & ~pulls & (size > (1.0 + 1e-9) * mu * forces[:, 0])
        if closed.system.redundant is not None and (pulls | slips).any():
            which = closed.contacts
            along = -np.sign(forces[:, :1]) * forces[:, 1:] / np.maximum(size, 1e-300)[:, None]
            along = np.where((status == SLIDES)[:, None], np.where((size > 0.0)[:, None], along, slides), np.nan)
            own, left = shared(contacts, state, which, forces[which], along[which])
            opens, begins = np.zeros_like(deep), np.zeros_like(deep)
            slip = np.linalg.norm(left[:, 1:], axis=1)
            opens[which] = left[:, 0] > LEFT
            begins[which] = (slip > LEFT) & (status == STICKS)[which] & ~stopped[which] & (left[:, 0] <= LEFT)
            if opens.any() or begins.any():
                result[opens], result[begins] = OPEN, SLIDES
                slides[begins] = (left[:, 1:] / np.maximum(slip, 1e-300)[:, None])[begins[which]]
                return Revised(state, result, slides)
            u = state.u.copy()
            u[contacts.carried[which, FORCES]] = own
            state = replace(state, u=u)
        elif pulls.any():  # the one that pulls most: others may push without it
            result[int(np.argmin(np.where(pulls, forces[:, 0], np.inf)))] = OPEN
            return Revised(state, result, slides)
        rates = started.rates()
        touched = started.gap <= TOUCHING * contacts.system.length
        held = (status == OPEN) & deep & touched & (np.abs(rates[:, 0]) <= still)
        if held.any():
            moves = np.linalg.norm(rates[:, 1:], axis=1) > still
            result[held] = np.where(moves[held] | (mu[held] == 0.0), SLIDES, STICKS)
            return Revised(state, result, slides)
        if closed.system.redundant is None and slips.any():
            result[slips] = SLIDES
            slides[slips] = -forces[slips, 1:] / size[slips, None]
            return Revised(state, result, slides)
        sliding = (status == SLIDES) & (mu > 0.0)
        if sliding.any():
            now = contacts.at(state, contacts.touched(sliding)).rates()[:, 1:]
            before = rates[:, 1:]
            speed = np.linalg.norm(before, axis=1)
            d = np.where((speed > still)[:, None], before / np.maximum(speed, 1e-300)[:, None], slides)
            reverses = sliding & (before_step == SLIDES) & ((now * d).sum(axis=1) < -still)
            if reverses.any():
                result[reverses] = STICKS
                slides[reverses] = np.nan
                return Revised(state, result, slides)
        return Revised(state, None, slides)

    def _stops(self, contacts: Contacts, started: Instant, status: IntArray, h: float) -> BoolArray:
        """Contacts whose slip, at its present rate, ends in the step."""
        which = np.flatnonzero(status == SLIDES)
        slip = started.rates()[which, 1:]
        rate = started.accelerations(which)[:, 1:]
        result = np.zeros(contacts.count, np.bool_)
        result[which] = ((slip + 2.0 * h * rate) * slip).sum(axis=1) <= 0.0
        return result & (contacts.friction > 0.0)

    def _closed(self, contacts: Contacts, state: State, status: IntArray, slides: Array) -> ClosedSystem:
        """The system in which contacts do what ``status`` says."""
        closed = contacts.closed.of(status, lambda: surplus(contacts, state, status))
        for batch, numbers in closed.sliding:
            batch.fallback, batch.held = np.nan_to_num(slides[numbers]), False
        return closed

    # impacts

    def _hits(self, contacts: Contacts, first: State, smooth: Smooth, h: float) -> BoolArray:
        """Open contacts that end deep, or where they just meet, or were deep within the step."""
        system, gap, near = contacts.system, smooth.gap, smooth.near
        if gap is None:
            return np.zeros(contacts.count, np.bool_)
        last, status = smooth.point.state, smooth.point.memory.status
        hits: BoolArray = (gap < -DEEP * system.length) & (status == OPEN)
        if (meets := (gap <= TOUCHING * system.length) & (status == OPEN) & ~hits).any():
            hits |= meets & (contacts.at(last, contacts.touched(meets)).rates()[:, 0] < -self._still(system, last, h))
        fastest = 2.0 * h * max(_fastest(system, first), _fastest(system, last))
        before = contacts.gaps(system.motion(first), near) if (gap < fastest).any() else None
        if before is not None and (close := (before + gap < fastest) & (status == OPEN) & ~hits).any():
            own = contacts.touched(close)
            r0, r1 = (contacts.at(state, own).rates()[:, 0] for state in (first, last))
            close &= (r0 < 0.0) & (r1 > 0.0)
            path = _cubic(np.linspace(0.0, 1.0, 33)[:, None], h, *(part[close] for part in (before, gap, r0, r1)))
            hits[close] = path.min(0) < -DEEP * system.length
        return hits

    def _located(
        self, contacts: Contacts, point: Standing, last: Smooth, hits: BoolArray, h: float
    ) -> tuple[Smooth, float]:
        """The smooth step to where the first of the hits happens, and what is left of the step."""
        tolerance = DEEP * contacts.system.length
        own = contacts.touched(hits)
        start, end = contacts.at(point.state, own), contacts.at(last.point.state, own)
        s = np.linspace(0.0, 1.0, 257)[1:, None]
        known = start.gap, end.gap, start.rates()[:, 0], end.rates()[:, 0]
        paths = _cubic(s, h, *(part[hits] for part in known))
        deep = (paths < -tolerance).any(axis=1)
        tau = h * float(s[int(np.argmax(deep)), 0]) if deep.any() else h
        low, high, smooth = 0.0, h, last
        for _ in range(ROOTS):
            smooth = self._smooth(contacts, point, tau)
            here = contacts.at(smooth.point.state, own)
            gap, rate = np.where(hits, here.gap, np.inf), here.rates()[:, 0]
            closing = hits & (rate < 0.0)
            worst = int(np.argmin(np.where(closing | (gap < -tolerance), gap, np.inf)))
            if not closing.any() and gap.min() >= -tolerance:
                low, guess = tau, np.inf
            else:
                if abs(gap[worst]) <= tolerance and rate[worst] <= 0.0:
                    break
                if gap[worst] < 0.0:
                    high = tau
                else:
                    low = tau
                guess = tau - gap[worst] / rate[worst] if rate[worst] < 0.0 else np.inf
                others = closing & (gap > 0.0)
                if gap[worst] > 0.0 and others.any():
                    guess = tau + float((gap[others] / -rate[others]).min())
            tau = guess if low < guess < high else 0.5 * (low + high)
            if high - low <= 1e-14 * h:
                break
        return smooth, h - (smooth.point.state.t - point.state.t)

    def _struck(self, contacts: Contacts, smooth: Smooth, h: float) -> Standing:
        """After the impulses of all that touch."""
        point, gap = smooth.point, smooth.gap
        assert gap is not None
        touching = (gap <= TOUCHING * contacts.system.length) | (point.memory.status != OPEN)
        rates = contacts.at(point.state, contacts.touched(touching)).rates()
        return self._impulses(contacts, point, rates, touching, h)

    def _pushed_out(
        self, contacts: Contacts, before: State, point: Standing, near: BoolArray | None, h: float
    ) -> Standing:
        """Places without depth at the end of a step, then impulses, with the rates before the step."""
        memory, closed = point.memory, point.memory.status != OPEN
        assert near is not None
        allowed, motion = TOUCHING * contacts.system.length, contacts.system.motion
        there = contacts.without(point.state)
        metric = step_matrix(contacts.open, there, h, self.smooth_method.coefficients)
        state, pushed = placed(contacts, point.state, closed, allowed, near, metric)
        touching = pushed | closed | (contacts.gaps(motion(state), near) <= allowed)
        clear = np.zeros_like(memory.clear)  # all is moved
        moved = Standing(state, memory._replace(unlocated=memory.unlocated + 1, clear=clear))
        rates = contacts.at(before, contacts.touched(touching)).rates()
        return self._impulses(contacts, moved, rates, touching, h)

    def _impulses(self, contacts: Contacts, point: Standing, rates: Array, touching: BoolArray, h: float) -> Standing:
        state, memory = point.state, point.memory
        approach = np.maximum(memory.approach, np.where(touching, -rates[:, 0], 0.0))
        rest = RESTING * approach if self.rest_speed is None else self.rest_speed
        elastic = (memory.status == OPEN) & (-rates[:, 0] > rest)
        work = contacts.carried[:, WORK]
        lost = state.u[work].sum()
        state, _, solved = strike(contacts, state, rates, touching, np.where(elastic, contacts.restitution, 0.0))
        lost = float(state.u[work].sum() - lost)
        memory = memory._replace(brought=memory.brought + max(-lost, 0.0))
        if not solved:
            raise NotConvergedError(f"no impulses obey the laws of contact at t = {state.t:.6g} s")
        return self._settled(contacts, Standing(state, memory._replace(approach=approach)), touching, h)

    def _settled(self, contacts: Contacts, point: Standing, touching: BoolArray, h: float) -> Standing:
        """With the forces of all that touch and do not part, from where the smooth part begins anew."""
        state, memory, system = point.state, point.memory, contacts.system
        still = self._still(system, state, h)
        rates = contacts.at(state, contacts.touched(touching)).rates()
        found = settled(contacts, state, touching & (rates[:, 0] <= still), still)
        return Standing(found.state, self._begun(contacts, found.state, h, memory, found.slides))

    def _begun(
        self,
        contacts: Contacts,
        state: State,
        h: float,
        memory: ContactMemory,
        slides: Array | None = None,
    ) -> ContactMemory:
        status, slides = self._status(contacts, state, self._still(contacts.system, state, h), slides)
        closed = self._closed(contacts, state, status, slides)
        alpha = self._starting(closed.system, with_multipliers(contacts, closed, state), h, memory.alpha, anew=True)
        return memory._replace(alpha=alpha, status=status, slides=slides, speed=_fastest(contacts.system, state))

    def _starting(self, system: System, inner: State, h: float, alpha: AlphaMemory, anew: bool = False) -> AlphaMemory:
        """Starting values for a step: those that there are, or as after an impact, without vibrations.

        These come from a trial step, of which there is none where the slip of a contact ends in it.
        """
        try:
            if anew:
                return self.smooth_method.restart(system, inner, h)
            return self.smooth_method.prepared(system, inner, h, alpha, GROWTH)
        except NotConvergedError:
            return self.smooth_method.after_jump(system, inner, inner, h, alpha)

    def _status(
        self, contacts: Contacts, state: State, still: float, slides: Array | None = None
    ) -> tuple[IntArray, Array]:
        """What contacts do by the forces that they carry, and in which directions they slide."""
        closed = state.u[contacts.carried[:, FORCES]][:, 0] > 0.0
        if slides is None:
            slides = settled(contacts, state, closed, still).slides
        status = np.where(~np.isnan(slides[:, 0]) | (contacts.friction == 0.0), SLIDES, STICKS)
        return np.where(closed, status, OPEN), slides

    def _still(self, system: System, state: State, h: float) -> float:
        """Speed that counts as none, m/s."""
        return STILL * _fastest(system, state) + STILL_STEP * system.length / max(h, 1e-12) * 1e-3


def _fastest(system: System, state: State) -> float:
    """The largest speed of a point of the model, m/s."""
    x, y, z, *angular = np.abs(state.v).max(axis=0).tolist()
    return math.hypot(x, y, z) + system.length * math.hypot(*angular)


def _both(first: Report, second: Report) -> Report:
    """Of a step in two parts."""
    counts = {name: getattr(first, name) + getattr(second, name) for name in ("iterations", "evaluations")}
    return replace(second, factorizations=first.factorizations + second.factorizations, **counts)


def _cubic(s: Array, h: float, g0: Array, g1: Array, r0: Array, r1: Array) -> Array:
    """Hermite's cubic of gaps with their rates at both ends."""
    return (
        (1 + 2 * s) * (1 - s) ** 2 * g0
        + s * (1 - s) ** 2 * h * r0
        + s * s * (3 - 2 * s) * g1
        + s * s * (s - 1) * h * r1
    )


def with_multipliers(contacts: Contacts, closed: ClosedSystem, state: State) -> State:
    """A state of the system with closed contacts, whose forces are multipliers."""
    result = contacts.without(state)
    if not len(closed.contacts):
        return result
    multipliers = np.zeros(closed.system.m)
    forces = state.u[contacts.carried[closed.contacts, FORCES]]
    multipliers[: len(state.multipliers)] = state.multipliers
    there = closed.multipliers >= 0
    multipliers[closed.multipliers[there]] = forces[there]
    return replace(result, multipliers=multipliers)


def _outer(contacts: Contacts, closed: ClosedSystem, last: State, state: State) -> State:
    """The state of the model of one of the system with closed contacts, after the last."""
    forces = np.zeros((contacts.count, 3))
    there = closed.multipliers >= 0
    own = np.zeros((len(closed.contacts), 3))
    own[there] = state.multipliers[closed.multipliers[there]]
    forces[closed.contacts] = own
    motion = None
    for batch, numbers in closed.sliding:
        motion = motion or replace(closed.system.motion(state), multipliers=state.multipliers)
        context = batch.force(motion, None)[1]
        forces[numbers, 1:] = -context.size[:, None] * context.direction
    return contacts.carry_on(last, state, forces)
