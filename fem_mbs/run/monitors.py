"""What a run looks for beside its steps, and says once: steps that are cut, coarse meshes, drives that jump, passing.

Dampers that turn are looked for in ``turning_dampers.py``.

A step across a kink of a law is taken in parts (``fixed_step.py``), and so are those after it while they follow the
vibrations that it has set off. That makes results right, and runs long: a user wants to know why.

The estimated error is that of places. Reactions follow accelerations, which err by more where they go up and down
within few steps, and hardly move anything: small vibrations of stiff parts, bodies that turn far in a step. The
reactions themselves tell, by how they bend from step to step.

Where drives jump, or their velocity does, joints go where they are told, but no force leads there. The places of a run
are right then, and its reactions are not: they ring, over the more steps the less a method damps. Nothing else tells of
it, as a drive leaves no equation of motion behind that could err. The coordinates that are driven tell: their velocity
changes in one step, and in neither of those beside it.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from fem_mbs.alpha.local_error import looked_at, looks_within, unlike_parabola
from fem_mbs.arrays import Array, BoolArray
from fem_mbs.contact.contacts import contacts_of
from fem_mbs.contact.passed import deep_between, motions_between
from fem_mbs.contact.shared_loads import describe, leaning_contacts
from fem_mbs.contracts import Constraint, ElementBatch, State, continued
from fem_mbs.contracts.arguments import listed
from fem_mbs.contracts.unilateral import TOUCHING
from fem_mbs.errors import LOG
from fem_mbs.initial.singular import owners_of_branches
from fem_mbs.run.interfaces import Reached, StepSequence
from fem_mbs.solution.history import History
from fem_mbs.solution.turns import principal
from fem_mbs.system.pattern import TINY
from fem_mbs.system.system import Evaluation, System

PART, PARTS, TIMES = 0.75, 100, 3.0
"""Share of a step below which it is a part; so many parts, and so many times the whole steps, are said."""


class CutSteps:
    """Counts parts of steps of ``h`` s, and how often which law has changed to the other side of a kink in them."""

    def __init__(self, system: System, evaluation: Evaluation, h: float) -> None:
        self._h = h
        asked = [str(owner) for batch in system.batches if batch.asks for owner in batch.owners]
        self.suspects = f"functions that may jump: {listed(asked, '; ')}" if asked else ""
        self._owners = owners_of_branches(system, evaluation)
        self._before: Array | None = None
        self._parts, self._whole = 0, 0.0
        self._changes: Counter[str] = Counter()

    def after_step(self, share: float, branches: Array | None) -> None:
        """Count a step, or a share of one, and who has changed sides in it; between jumps steps are shorter."""
        self._parts += share < PART
        self._whole += share
        if self._before is not None and branches is not None and branches.tobytes() != self._before.tobytes():
            self._changes.update({self._owners[k] for k in np.flatnonzero(branches != self._before)})
        self._before = branches

    def warning(self) -> str:
        """How many parts there were, and because of what; empty if they are few."""
        if self._parts < max(PARTS, TIMES * self._whole):
            return ""
        if self._changes:
            passed = [f"{owner} ({count})" for owner, count in self._changes.most_common()]
            why = f"laws have passed kinks, so many times: {listed(passed, '; ')}"
        else:
            why = "forces change suddenly, though no law has told of a kink"
            why += f"; {self.suspects}" if self.suspects else ""
        return (
            f"{self._whole:.3g} steps of {self._h:.3g} s were taken in {self._parts} parts, whose lengths follow the "
            f"local error, because {why}. If that takes too long: let what stops, slips or switches do so over a wider "
            "range (creep of JointFriction, less stiffness, a limit that is not met), damp what it sets off, or take a "
            "smaller step that follows it"
        )


EVERY = 10
"""Steps from one look to the next; what is said has lasted for two."""


class CoarseMeshes:
    """Looks at the cells of a run whose size limits what they can follow, see :class:`ElementBatch`."""

    def __init__(self, steps: StepSequence) -> None:
        self._steps = steps
        self._left = [(batch, np.full(len(batch.nodes), np.inf)) for batch in steps.system.coarse]
        self._last: State | None = None

    def look(self, reached: Reached) -> None:
        """At one of so many steps."""
        some = reached.every(EVERY)
        for state in some:
            self._look(state)
        self._last = None if some and some[-1] is reached.states[-1] else reached.states[-1]

    def warning(self) -> str:
        """Look at the last state; what there is to say was said at once."""
        if self._last is not None:
            self._look(self._last)
        return ""

    def _look(self, state: State) -> None:
        """Say where cells carry too much now and did so at the last look."""
        motion, left = self._steps.system.motion(state), []
        for batch, before in self._left:
            now, text = batch.coarse(motion)
            lasting = np.minimum(now, before)
            worst = int(lasting.argmax())
            if not lasting[worst] > 1.0:
                left.append((batch, now))
                continue
            owner = batch.owners[worst]
            cell = worst - batch.owners.index(owner)
            LOG.warning(
                "%s: %s: element %d %s (%d of %d elements)",
                self._steps.where.format(state.t),
                owner,
                cell + 1,
                text.format(lasting[worst]),
                (lasting > 1.0).sum(),
                len(lasting),
            )
        self._left = left


CREPT = 0.01
"""A way, in rad or against the extent of the model, that should have been none."""


class Rubbing:
    """Looks at the rates of what rubs: far below those of its law it creeps, far above it slides too fast for it.

    How far it has crept adds up; see :class:`ElementBatch`.
    """

    def __init__(self, steps: StepSequence) -> None:
        self._system = steps.system
        self._ways = [np.zeros(len(batch.owners)) for batch in self._system.creeps]
        self._fast: dict[str, None] = {}
        self._last: State | None = None
        self._seen = -np.inf

    def look(self, reached: Reached) -> None:
        """At one of so many steps."""
        if not np.isfinite(self._seen):
            self._seen = reached.after(1)[0].t
        self._last = reached.states[-1]
        for state in reached.every(EVERY):
            self._look(state)

    def warning(self) -> str:
        """Who has crept how far; empty if that is next to nothing."""
        if self._last is not None:
            self._look(self._last)
        pairs = zip(self._system.creeps, self._ways, strict=True)
        far = [
            f"{batch.owners[k]} by {ways[k]:.2g}"
            for batch, ways in pairs
            for k in np.flatnonzero(ways > CREPT).tolist()
        ]
        slower = (
            f"friction is slower than it is made for: {listed(far, '; ')} (rad, or extents of the model), at rates "
            "below creep, or with bristles below stribeck: 0.001 and 0.01, in any units, unless they are given. Give "
            "creep= 100 times and stribeck= 10 times below the rates of interest; with bristle= a JointFriction sticks "
            "in place of creeping"
        )
        faster = (
            f"friction falls from its static to its kinetic coefficient over a rate that was not given, 0.01 in any "
            f"units, and slides more than 1000 times as fast: {listed([*self._fast], '; ')}. Give stribeck= in the "
            "units of the model"
        )
        return "; ".join(text for text, told in ((slower, far), (faster, self._fast)) if told)

    def _look(self, state: State) -> None:
        motion, h = self._system.motion(state), state.t - self._seen
        for batch, ways in zip(self._system.creeps, self._ways, strict=True):
            rates, fast = batch.creeping(motion, self._system.length)
            ways += h * rates
            self._fast |= {str(batch.owners[k]): None for k in np.flatnonzero(fast).tolist()}
        self._seen = state.t


SUDDEN, LARGE = 10.0, 0.05
"""A change of velocity against those in the steps beside it, and against the largest velocity, that is a jump."""
LEAP = 0.25
"""What a way in a step differs from that of the mean velocity, against either, that is a jump."""
ROUNDING = 1e-9
"""Ways, in rad and against the extent of the model, that are none."""


class DrivesWithinSteps:
    """Looks for drives whose acceleration goes up and down within steps: their ends do not tell of it.

    It does so at two looks: at one, a law may have its pieces put together.
    """

    def __init__(self, system: System) -> None:
        pairs = zip(system.constraint_batches, system.constraint_slices, strict=True)
        self._system, self._driven = system, [(batch, rows) for batch, rows in pairs if batch.driven]
        self._unlike = [np.zeros(rows.stop - rows.start, np.bool_) for _, rows in self._driven]

    def look(self, reached: Reached) -> str:
        """The first of the drives between states, in words; empty if there is none."""
        for k, (before, after) in enumerate(pairwise(reached.after(1)), reached.first - 1):
            if not looked_at(k):
                continue
            motion, (times, share) = self._system.motion(before), looks_within(before.t, after.t - before.t, k)
            for number, (joints, rows) in enumerate(self._driven):
                seconds = joints.second_rates(motion, times) * self._system.constraint_weight[rows]
                least = max(ROUNDING / (after.t - before.t) ** 2, LARGE * np.abs(seconds).max())
                unlike = unlike_parabola(seconds, share) & (np.ptp(seconds, axis=0) > least)
                lasting, self._unlike[number] = unlike & self._unlike[number], unlike
                if lasting.any():
                    owner, _ = self._system.constraint_owner[rows.start + int(lasting.argmax())]
                    return (
                        f"{owner}: the acceleration of its drive goes up and down within steps, as in that from "
                        f"t = {before.t:.6g} s to {after.t:.6g} s: places are right, but reactions are not those of "
                        "the drive, nor is the largest. Take steps that resolve it"
                    )
        return ""


class DriveJumps:
    """Looks for jumps of the coordinates that joints drive from step to step, and within steps if there are none."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._left = [own for own in dict.fromkeys(own for own, _ in system.constraint_owner) if own.drives()[1]]
        self._told, self._begins = list[str](), True
        self._within, self._fine = DrivesWithinSteps(system), ""

    def look(self, reached: Reached) -> None:
        """At drives of which nothing is told, in these steps and the two before them."""
        self._fine = self._fine or self._within.look(reached)
        if self._left:
            self._begins = len(reached.before) < 3
            history = History.of(self._system, reached.after(3))
            told = {owner: self._jump(history, owner) for owner in self._left}
            self._told += filter(None, told.values())
            self._left = [owner for owner, text in told.items() if not text]

    def warning(self) -> str:
        """Where drives have jumped for the first time; empty if none has."""
        if not self._told:
            return self._fine
        return (
            f"{'; '.join(self._told)}. No force does that: places are right, but reactions ring from there on. Give "
            "drives with continuous velocities, or steps that resolve how they change"
        )

    def _jump(self, history: History, owner: Constraint) -> str:
        """The first jump of what a joint or a drive leads, in words."""
        joint, names = owner.drives()
        which = [k for k, own in enumerate(joint.coordinates) if own.name in names]
        angle = np.array([joint.coordinates[k].angle for k in which])
        values, speeds = (part[:, which] for part in principal(history, joint))
        h, ways, changes = np.diff(history.t)[:, None], np.diff(values, axis=0), np.abs(np.diff(speeds, axis=0))
        least, told = ROUNDING * np.where(angle, 1.0, history.system.length), 0.5 * h * (speeds[1:] + speeds[:-1])
        ways = np.where(angle, continued(ways, told), ways)
        missed, ways, speeds = np.abs(ways - told), np.abs(ways), np.abs(speeds)
        fastest = speeds.max(axis=0)
        leaps = missed > LEAP * (ways + h * np.maximum(speeds[1:], speeds[:-1])) + LARGE * h * fastest + least
        sudden = self._sudden(changes / h) & (changes > LARGE * fastest) & (h * changes > least)
        for found, sizes, what, per in ((sudden, changes, "its velocity", "/s"), (leaps, ways, "it", "")):
            if found.any():
                k, coordinate = np.unravel_index(int(found.argmax()), found.shape)
                unit = ("rad" if angle[coordinate] else "m") + per
                other = "" if per else ", or it is not the integral of its velocity, as testing.check_law tells"
                return (
                    f"{owner}: the drive jumps between t = {history.t[k]:.6g} s and {history.t[k + 1]:.6g} s: {what} "
                    f"changes by {sizes[k, coordinate]:.3g} {unit}{other}"
                )
        return ""

    def _sudden(self, rates: Array) -> BoolArray:
        """Whether rates ``(k, c)`` of velocities stand out from those beside; the last one has none after it yet."""
        before = np.concatenate([np.zeros_like(rates[:1]), rates[:-2]])
        found = np.zeros_like(rates, dtype=np.bool_)
        found[:-1] = rates[:-1] > SUDDEN * np.maximum(before, rates[1:])
        found[0] &= self._begins
        return found


BEND, LASTS = 0.2, 3
"""Twice how far a reaction is from the line through those a step before and after, over the largest of the run: an
oscillation of 14 steps has as much. So many times it is told."""
TURNING = 5.0 / 6.0
"""Share of how a reaction bends as it turns that is left out: it is off by a fiftieth where it turns by 0.7 rad."""
NO_FORCE = 1e-8
"""Share of what would stop everything within a step that is rounding of reactions."""


class BentReactions:
    """Looks at how reactions bend from step to step, but for parts of steps."""

    def __init__(self, system: System) -> None:
        self._system, self._step = system, 0.0
        self._bends, self._largest = np.zeros(LASTS), 0.0
        vectors = [(owner, equation.split()[0]) for owner, equation in system.constraint_owner]
        self._first = np.flatnonzero([True, *(one != other for one, other in pairwise(vectors))])
        self._worst = 0, 0.0

    def look(self, reached: Reached) -> None:
        """At reactions in these steps and the one before them."""
        states = reached.after(2)
        if len(states) < 3:
            return
        system, nodes = self._system, slice(6 * self._system.n)
        forces = np.array([state.multipliers for state in states]) / system.constraint_weight
        h, jumped = np.diff([state.t for state in states]), np.array([state.before is not None for state in states])
        self._step = max(self._step, float(h.max()))
        whole = (np.minimum(h[1:], h[:-1]) > PART * self._step) & ~(jumped[1:-1] | jumped[2:])
        first = (h[1:] / (h[1:] + h[:-1]))[:, None]
        with np.errstate(over="ignore", invalid="ignore"):  # a run that has become unstable may come close to infinity
            bends = 2.0 * (forces[1:-1] - first * forces[:-2] - (1.0 - first) * forces[2:])
            bends = np.abs(bends - TURNING * self._turning(forces[:-2], forces[1:-1], forces[2:])) * whole[:, None]
            speeds = np.array([state.v.ravel() for state in states[:-1]]) / h[:, None]
            stop = np.abs(system.diagonal_mass[nodes] / system.weight[nodes] * speeds).max()
        self._largest = max(self._largest, float(np.abs(forces).max()), NO_FORCE * float(stop))
        k, row = np.unravel_index(int(bends.argmax()), bends.shape)
        if bends[k, row] > self._bends[-1]:
            self._worst = int(row), states[k + 1].t
        self._bends = np.sort(np.append(self._bends, bends.max(axis=1)))[-LASTS:]

    def _turning(self, before: Array, now: Array, after: Array) -> Array:
        """How reactions bend that turn at their size, as their way across themselves tells."""

        def product(a: Array, b: Array) -> Array:
            return np.add.reduceat(a * b, self._first, axis=1)

        way, squared = 0.5 * (after - before), np.maximum(product(now, now), TINY)
        across = (product(way, way) - product(way, now) ** 2 / squared) / squared
        share = 2.0 - 2.0 * np.sqrt(1.0 - np.clip(across, 0.0, 1.0))
        return np.repeat(share, np.diff(np.append(self._first, now.shape[1])), axis=1) * now

    def warning(self) -> str:
        """Where reactions bend the most, if they do so again and again; empty if they do not."""
        if not self._bends[0] > BEND * self._largest:
            return ""
        row, t = self._worst
        owner, equation = self._system.constraint_owner[row]
        return (
            f"{owner}: steps are too long for its reaction ({equation}): at t = {t:.6g} s it is "
            f"{50.0 * self._bends[-1] / self._largest:.2g} % of the largest of the run from the mean of those a step "
            "before and after. The estimated error is that of places; reactions, accelerations and section forces may "
            "be off by as much, and peaks lie between steps. Take smaller steps, or damp what vibrates"
        )


class PassedThrough:
    """Looks for bodies with contacts that yield, and that a step has led through each other without a force."""

    def __init__(self, system: System, batches: list[ElementBatch]) -> None:
        self._system, self._batches, self._told = system, batches, ""

    def look(self, reached: Reached) -> None:
        """Whether one was in the other between two states, apart at both."""
        for first, state in pairwise(reached.after(1)):
            if not self._told:
                self._between(first, state)

    def _between(self, first: State, state: State) -> None:
        motion_at, h = motions_between(self._system, first, state), state.t - first.t
        for batch in self._batches:
            shares = deep_between(batch, motion_at, h, TOUCHING * self._system.length).min(axis=1)
            if np.isfinite(shares).any():
                k = int(shares.argmin())
                self._told = (
                    f"{batch.owners[k]}: its bodies have passed through each other at "
                    f"t = {first.t + shares[k] * h:.6g} s, within one step and without a force: take smaller steps, or "
                    "give no stiffness, where impacts are found within steps"
                )

    def warning(self) -> str:
        """The first of them; empty for none."""
        return self._told


class SharedLoads:
    """Says, once for each contact of a run, that its friction leans on loads that are not unique."""

    def __init__(self, system: System, where: str, state: State) -> None:
        self._contacts, self._where = contacts_of(system), where
        self._told: set[object] = set()
        self._look(state)

    def look(self, reached: Reached) -> None:
        """At one of so many steps."""
        for state in reached.every(EVERY):
            if len(self._told) < self._contacts.elements:
                self._look(state)

    def warning(self) -> str:
        """What there is to say was said at once."""
        return ""

    def _look(self, state: State) -> None:
        found = leaning_contacts(self._contacts, state)
        if new := {part: names for part, names in found.items() if part not in self._told}:
            self._told |= new.keys()
            LOG.warning("%s: %s", self._where.format(state.t), describe(new))
