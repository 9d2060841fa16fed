"""How the equations at a motion change with the parameters: differences of models beside, in what differs there.

Elements and joints that a parameter touches are taken from the models at ``p + dp`` and ``p - dp``, those of all
parameters together, into batches of their own whose nodes are those of the run: a step asks as many of them as the
model has classes, however many parameters there are.

Where a force is continuous and its slope is not, as where a stop is met, the motion has derivatives, and what a step
misses depends on where in it the kink lies, at an instant that moves with the parameters. With steps that are held,
derivatives are off by a share that falls with the length of the step across it, which ``FixedStep(h, narrow=True)``
makes as short as can be. Other steps are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contracts import ElementBatch, Method, Motion, Numbering, TimedBatch, WiredBatch
from fem_mbs.contracts.arguments import listed
from fem_mbs.derivatives.parameters import ParameterSet, Variation, alike
from fem_mbs.derivatives.residual import Instants, of_force
from fem_mbs.initial.singular import owners_of_branches
from fem_mbs.run.interfaces import bent
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.solution.copies import Ask, BatchCopies, over_time
from fem_mbs.solution.history import History
from fem_mbs.system import constraints
from fem_mbs.system.layout import grouped
from fem_mbs.system.system import System

KINK = 1e-2
"""Share of a difference by which its two halves may differ where a law is smooth."""
SMOOTH = 1e-3
"""The same where its error of second order is rounding: a sixth of the square of the share, as of sines."""
MEAN = "{} has a kink within the difference of {}, or bends as much: the derivative is a mean of both sides"
BESIDE = 1e-7
"""How far, over the extent of the model, nodes are moved to see how large forces are of which no sum is left."""
JUMP, FEW = 0.2, 4
"""Share of the largest by which what a parameter does jumps between two steps; steps of which that is seen."""
SHRINKS, LEAST = 3, 1e-3
"""How often a difference shrinks to where the equations at the start are smooth, and to which share of it at most."""


class _VariedNumbering(Numbering):
    """Rows of the model of a run for nodes and parts of the models beside."""

    def __init__(self, system: System, others: Sequence[System]) -> None:
        own = system.number
        super().__init__(system.nodes, own.parts, own.origin, own.end)
        self.equations = dict(own.equations)
        for other in others:
            self._rows |= {node: row for row, node in enumerate(other.nodes)}
            for part, here in zip(other.number.parts, own.parts, strict=True):
                self._own[part] = own.own(here)
                if here in own.equations:
                    self.equations[part] = own.equations[here]


class _Term(NamedTuple):
    """What an element or a joint, of a model beside or of the run, adds to a difference."""

    part: Any
    of: Any
    """The same in the model of the run."""
    k: int
    """Number of the parameter."""
    weight: float
    bend: float
    """In the second difference, zero where there is none."""


class ParameterDerivatives:
    """Derivatives of the equations at a motion that is held against all parameters."""

    def __init__(self, system: System, varied: Sequence[Variation]) -> None:
        self.system, self.varied = system, varied
        number = _VariedNumbering(system, [other for own in varied for other in own.systems])
        self._steps = np.array([own.step for own in varied])
        self.cells = 0
        """Of all differences."""
        self._elements: list[tuple[Array, _Differences]] = []
        self._joints: list[_Differences] = []
        for gravity, shares in self._differing().items():
            of_parts: dict[int, list[_Term]] = {}
            for share in shares:
                of_parts.setdefault(id(share.part), []).append(share)
            for parts in grouped(own[0].part for own in of_parts.values()):
                batch = type(parts[0]).batch(parts, number)
                together = BatchCopies(batch, parts, number, (system.n, system.k, system.m))
                own = _Differences(system, together, [of_parts[id(owner)] for owner in batch.owners], self._steps)
                self.cells += len(batch.nodes)
                if isinstance(batch, ElementBatch):
                    self._elements.append((np.array(gravity), own))
                else:
                    self._joints.append(own)
        self._beside: dict[tuple[str, float], ParameterDerivatives] = {}
        """Over shorter steps, by which kinks are told from what bends."""
        self.kinks: dict[tuple[str, str], float] = {}
        """Parameters, and elements whose forces have a kink within their difference, and when this was seen first."""
        self.bent: dict[tuple[str, str], tuple[float, float]] = {}
        """The same of those that bend in time at an instant that a parameter moves, and between which steps."""
        self.bends, self._rounding = np.zeros((2, len(varied)))
        """By how much the halves of the differences differ, at most; the share of a half that is rounding there."""
        self._felt = np.zeros(len(varied), np.bool_)
        """Whether the equations of any step differ."""

    def _differing(self) -> dict[tuple[float, ...], list[_Term]]:
        """What differs, by its gravity; where differences are central, the run's own beside it."""
        system, parts = self.system, self.system.number.parts
        result: dict[tuple[float, ...], list[_Term]] = {}
        for k, own in enumerate(self.varied):
            others = own.systems
            gravities = [tuple(other.gravity.tolist()) for other in others]
            alone = all(gravity == tuple(system.gravity.tolist()) for gravity in gravities)
            central = 1.0 if alone and len(others) == 2 else 0.0
            for here, *there in zip(parts, *(other.number.parts for other in others), strict=True):
                joint = here in system.number.equations
                heavier = not (alone or joint)
                if not heavier and all(alike(here, part) for part in there):
                    continue
                for part, weight, gravity in zip(there, own.weights, gravities, strict=True):
                    share = _Term(part, here, k, weight, central)
                    result.setdefault(gravity if not joint else gravities[0], []).append(share)
                if central and not joint:
                    result[gravities[0]].append(_Term(here, here, k, 0.0, -2.0))
        return result

    def rows(self, at: Instants, look: bool) -> Array:
        """Derivatives ``(s, R, P)`` of the rows of steps; ``look`` for kinks."""
        system, steps, count = self.system, len(at.times), len(self.varied)
        N, m, times, none = system.N, system.m, at.times, at.multipliers[:, :0]
        slots, values = [np.empty(0, np.intp)], [np.empty((steps, 0))]

        def add(places: IntArray, weighted: Array) -> None:
            slots.append(places)
            values.append(weighted.reshape(steps, -1))

        motion = at.motion
        for gravity, own in self._elements:
            momentum = motion.momentum and replace(motion.momentum, gravity=gravity)
            here = replace(motion, gravity=gravity, momentum=momentum)
            force, *sides = own.asked(_on_sides, here, times, none)
            side = own.side_of_run(sides[0]) if sides else np.zeros((steps, len(own.cells)))
            add(own.slots, (own.weights + side[:, :, None] * own.halves) * force)
            if look:
                self._look(own, force, here, times, side)
        motion = motion.momentum or motion
        for own in self._joints:
            phi, rate, gradient = own.asked(_joint, motion, times, none)
            add(own.slots, own.weights * at.multipliers[:, own.equations // count, None] * gradient)
            add(N * count + own.equations, own.weights * phi)
            add((N + m) * count + own.equations, own.weights * rate)
        size = (N + 2 * m) * count
        every = np.concatenate(slots) + size * np.arange(steps)[:, None]
        found: Any = np.bincount(every.ravel(), np.concatenate(values, axis=1).ravel(), steps * size)
        found = found.reshape(steps, -1, count)
        self._felt |= found.any(axis=(0, 1))
        force, closing, hidden = np.split(found, [N, N + m], axis=1)
        level = system.velocity_level[:, None]
        rows = at.h**2 * force[:, system.free_index], np.where(level, at.h * hidden, closing)
        return np.concatenate([*rows, np.where(level, 0.0, hidden / at.gamma_prime)], axis=1)

    def _look(self, own: _Differences, forces: Array, motion: Motion, times: Array, side: Array) -> None:
        """See whether halves of central differences, which go to no ``side``, agree; ``forces`` are (s, entries, r).

        Of a stiff part in balance no more is left than rounding, which is that of what it has a little beside.
        """
        if own.inner is None:
            apart = BESIDE * self.system.length * (-1.0) ** np.arange(len(motion.x))[:, None]
            (beside,) = own.asked(of_force, replace(motion, x=motion.x + apart), times, np.empty((len(times), 0)))
            own.inner = np.abs(beside - forces).max(axis=0)
        differences = own.differences(forces)
        if own.timed and len(times) >= FEW:
            self._look_between(own, differences[1], own.sizes(np.abs(forces)), times)
        apart, changes = (np.abs(each).max(axis=2) for each in differences)
        self._felt[own.numbers[apart.any(axis=1)]] = True  # also where both sides are alike, as at an extremum
        apart[~own.central] = 0.0
        apart[own.members @ np.abs(side).T > 0.0] = 0.0
        sizes = own.sizes(np.abs(forces) + own.inner)
        largest = np.zeros((2, len(self.varied), len(times)))
        np.maximum.at(largest[0], own.numbers, np.maximum(changes * self._steps[own.numbers, None], 0.5 * apart))
        np.maximum.at(largest[1], own.numbers, sizes)
        bends = self._bends(own.numbers, apart, largest[0][own.numbers], 1e-9 * largest[1][own.numbers])
        suspects: dict[int, dict[tuple[str, str], int]] = {}
        for pair in np.flatnonzero((bends > KINK).any(axis=1)).tolist():
            k, element = own.pairs[pair]
            if (key := (self.varied[k].label, str(element))) not in self.kinks:
                suspects.setdefault(k, {})[key] = pair
        for k, keys in suspects.items():
            pairs = list(keys.values())
            over = partial(self._apart, [own.pairs[pair][1] for pair in pairs], motion, times)
            kinked = (bends[pairs] > KINK) & self.varied[k].kinked(apart[pairs], over)
            for key, at in zip(keys, kinked, strict=True):
                if at.any():
                    self.kinks[key] = float(times[int(np.argmax(at))])

    def _apart(self, elements: list[Any], motion: Motion, times: Array, own: Variation) -> Array:
        """How far halves of a difference are apart of some elements, ``(e, s)``."""
        result = np.full((len(elements), len(times)), np.inf)
        if (key := (own.label, own.step)) not in self._beside:
            self._beside[key] = ParameterDerivatives(self.system, [own])
        for _, each in self._beside[key]._elements:
            here = {part: pair for pair, (_, part) in enumerate(each.pairs) if each.central[pair]}
            if rows := [row for row, element in enumerate(elements) if element in here]:
                (forces,) = each.asked(of_force, motion, times, np.empty((len(times), 0)))
                pairs = [here[elements[row]] for row in rows]
                result[rows] = np.abs(each.differences(forces)[0][pairs]).max(axis=2)
        return result

    def _bends(self, numbers: IntArray, apart: Array, halves: Array, noise: Array) -> Array:
        """How far halves are ``apart`` over them, beyond rounding, ``(pairs, s)``; the largest are kept."""
        halves = np.maximum(halves, np.finfo(float).tiny)
        bends = np.maximum(apart - noise, 0.0) / halves
        np.maximum.at(self.bends, numbers, bends.max(axis=1))
        np.maximum.at(self._rounding, numbers, np.where(bends > SMOOTH, noise / halves, 0.0).max(axis=1))
        return bends

    def nearer(self) -> list[Variation]:
        """The variations over less, where they bend."""
        return list(map(nearer, self.varied, self.bends.tolist(), self._rounding.tolist()))

    def start(self) -> None:
        """See whether halves of starting values agree."""
        here = _start(self.system)
        noise = np.array([1e-9 * np.abs(own).max(initial=0.0) for own in here])
        for k, own in enumerate(self.varied):
            half, apart = _halves(here, own)
            self._felt[k] |= half.any()
            bent = self._bends(np.full(len(here), k), *(each[:, None] for each in (apart, half, noise)))[:, 0] > KINK
            if bent.any() and (bent & own.kinked(apart, lambda finer: _halves(here, finer)[1])).any():
                self.kinks.setdefault((own.label, "what the model begins with"), 0.0)

    def _look_between(self, own: _Differences, slopes: Array, sizes: Array, times: Array) -> None:
        """See whether first differences ``(pairs, s, r)`` jump between two steps, and sizes ``(pairs, s)`` do not."""
        alone = _jumps(slopes) & ~_jumps(sizes[..., None])
        for pair in np.flatnonzero(alone.any(axis=1)):
            k, element = own.pairs[pair]
            first = int(alone[pair].argmax()) + 1
            self.bent.setdefault((self.varied[k].label, str(element)), (float(times[first]), float(times[first + 1])))

    def look(self, motion: Motion, t: float) -> None:
        """Ask elements alone, and see whether halves of differences agree."""
        for gravity, own in self._elements:
            times, none, here = np.array([t]), np.empty((1, 0)), replace(motion, t=t, gravity=gravity)
            self._look(own, own.asked(of_force, here, times, none)[0], here, times, np.zeros((1, len(own.cells))))

    def notes(self, zero: BoolArray) -> list[str]:
        """What the user is to know of them, and of what is ``zero`` (P,)."""
        self.start()
        texts = [MEAN.format(name, f"{label}, first at t = {t:.6g} s") for (label, name), t in self.kinks.items()]
        texts += [
            f"{name} bends between t = {a:.6g} s and {b:.6g} s at an instant that {label} moves, as where a ramp ends: "
            "the derivative is that of the steps, off by a share that falls with their length; compare two steps"
            for (label, name), (a, b) in self.bent.items()
            if (label, name) not in self.kinks
        ]
        unmoved = {self.varied[k].label for k in np.flatnonzero(zero & ~self._felt).tolist()}
        for label in sorted(unmoved - {label for label, _ in self.kinks}):
            texts += unfelt(self.system, label)
        return texts


def unfelt(system: System, label: str) -> list[str]:
    """What is to be said of a number that the model has, and that no step depends on, if functions may be why."""
    if not (system.follows_time or any(batch.asks for batch in system.batches)):
        return []
    return [
        f"no step depends on {label}: its derivatives are zero, which is wrong where a function switches at an instant "
        "that it moves, as no end of a step tells of it: give the function its jumps, for which there is how='copies'"
    ]


def smooth_variations(parameters: ParameterSet, system: System) -> list[Variation]:
    """Models beside, so near that the equations at the start follow each number by a line, where that can be."""
    result = parameters.variations(system)
    seen = _seen(system, result)
    for k in np.flatnonzero(seen.bends > SMOOTH).tolist():
        own = seen.nearer()[k]
        for _ in range(SHRINKS):
            again = _seen(system, [own])
            if again.bends[0] <= SMOOTH:
                result[k] = own
                break
            (own,) = again.nearer()
    return result


def nearer(own: Variation, bend: float, rounding: float) -> Variation:
    """The same over less, if it bends; not over so little that a kink is lost in a share of a half that is rounding."""
    share = max(LEAST, 2.0 * rounding / bend, 0.5 * SMOOTH / bend) if bend > SMOOTH else 1.0
    return own.again(share * own.step) if share < 1.0 else own


def _seen(system: System, varied: list[Variation]) -> ParameterDerivatives:
    """What was seen of forces and starting values as built, and of forces there at later times."""
    there, end = ParameterDerivatives(system, varied), system.end if np.isfinite(system.end) else 0.0
    V = np.concatenate([np.vecmat(own, system.R0) for own in np.split(system.velocities, 2, axis=1)], axis=1)
    begun = replace(system.at_rest(), V=V)
    for t in {0.0, 0.37 * end, end}:
        there.look(begun, t)
    there.start()
    return there


def _jumps(values: Array) -> BoolArray:
    """Whether values ``(pairs, s, r)`` jump between two steps, ``(pairs, s - 3)``, from the second one on."""
    jumps = np.linalg.norm(np.diff(values, axis=1), axis=2)
    largest = np.linalg.norm(values, axis=2).max(axis=1, keepdims=True)
    beside = np.maximum(jumps[:, :-2], jumps[:, 2:])
    return np.asarray((jumps[:, 1:-1] > JUMP * largest) & (2.0 * beside < jumps[:, 1:-1]))


def _start(system: System) -> tuple[Array, ...]:
    return system.x0 + system.origin, system.R0, system.velocities, system.u0


def _halves(here: Sequence[Array], own: Variation) -> Array:
    """Of differences of starting values: the larger half, and how far both are apart, ``(2, 4)``."""
    beside = zip(here, *map(_start, own.systems), strict=True)
    return np.array([own.halves(each, values) for each, *values in beside]).T


def _on_sides(batch: Any, motion: Motion, prescribed: Any, _: Array) -> list[Array | None]:
    """Forces, as :func:`of_force`, and on which sides of its kinks the law of each cell is, if it has any."""
    force, context = batch.force(motion, prescribed)
    found = [force, batch.branches(context)] if batch.kinked else [force]
    return [own.reshape(len(force), -1) for own in found]


def _joint(batch: Any, motion: Motion, prescribed: Any, _: Array) -> list[Array | None]:
    """``Phi``, ``B V + Phi_t`` and ``B``."""
    phi, gradient, context = batch.evaluate(motion, prescribed)
    return [phi[:, None], constraints.rate(batch, motion, phi, gradient, context)[:, None], gradient]


class _Differences:
    """A batch of parts of several models, and what its cells, or equations, add to the differences."""

    def __init__(self, system: System, together: BatchCopies, shares: Sequence[Sequence[_Term]], steps: Array) -> None:
        self._together, batch, count = together, together.one, len(steps)
        self.timed = isinstance(batch, TimedBatch | WiredBatch)
        self.inner: Array | None = None
        """Forces ``(entries, r)`` of nodes that are moved a little, where these are known."""
        joint = not isinstance(batch, ElementBatch)
        own = None if batch.own is None else 6 * system.n + batch.own % system.k
        nodes = (6 * batch.nodes[:, :, None] + np.arange(6)).reshape(len(batch.nodes), -1)
        rows = nodes if own is None else np.concatenate([nodes, own], axis=1)
        owner = batch.cell if joint else np.arange(len(rows))
        entries = [(cell, share) for cell, number in enumerate(owner.tolist()) for share in shares[number]]
        self.cells = np.array([cell for cell, _ in entries], np.intp)
        numbers = np.array([share.k for _, share in entries], np.intp)
        self.weights, self.bends = np.array([share[3:] for _, share in entries]).T[:, :, None]
        self.halves = 0.5 * self.bends / steps[numbers, None]
        places = rows[owner[self.cells]]
        if joint:
            within = self.cells - np.searchsorted(owner, owner[self.cells])
            mine = [system.number.equations[share.of][i] for (_, share), i in zip(entries, within, strict=True)]
            self.equations = np.array(mine, np.intp) * count + numbers
        elif batch.terms > 1:
            places = np.repeat(places[:, None], batch.terms, 1).reshape(len(places), -1)
        self.slots = (places * count + numbers[:, None]).ravel()
        names = {(share.k, id(share.of)): (share.k, share.of) for _, share in entries}
        self.pairs, order = list(names.values()), {key: i for i, key in enumerate(names)}
        pair = np.array([order[share.k, id(share.of)] for _, share in entries], np.intp)
        self.numbers = np.array([k for k, _ in self.pairs], np.intp)
        self.central = np.bincount(pair, self.bends[:, 0] < 0.0, len(self.pairs)) > 0.0
        place, shape = (pair, np.arange(len(pair))), (len(self.pairs), len(pair))
        self._of_pairs = [csr_array((own, place), shape) for own in (self.bends[:, 0], self.weights[:, 0])]
        self.members = csr_array((np.ones(len(pair)), place), shape)
        found = [np.flatnonzero(self.central[pair] & (np.sign(self.weights[:, 0]) == kind)) for kind in (-1, 0, 1)]
        self._threes = np.array([own[np.argsort(pair[own], kind="stable")] for own in found], np.intp)
        """Entries ``(3, c)`` of the models before, of the run and after, of which central differences are made."""

    def side_of_run(self, sides: Array) -> Array:
        """To which side ``(s, entries)`` differences go, 0 for both: not to where a model is beyond a kink of the run.

        Matrices are those of the side of the run, too: a mean of both would push where nothing gives way.
        """
        before, here, after = (sides[:, own] for own in self._threes)
        result = np.zeros(sides.shape[:2])
        result[:, self._threes] = ((before != here).any(axis=-1) * 1.0 - (after != here).any(axis=-1))[:, None]
        return result

    def asked(self, ask: Ask, motion: Motion, times: Array, none: Array) -> list[Array]:
        """What is asked of the cells that have a share, ``(s, entries, ...)``."""
        found = self._together.ask(ask, motion, times, none)
        return [own.reshape(len(times), -1, own.shape[-1])[:, self.cells] for own in found if own is not None]

    def differences(self, forces: Array) -> tuple[Array, Array]:
        """Second and first differences ``(pairs, s, r)`` of each parameter and part."""
        second, first = (self._sums(own, forces) for own in self._of_pairs)
        return second, first

    def sizes(self, values: Array) -> Array:
        """Largest sums ``(pairs, s)`` of what all cells have, by each parameter and part."""
        return self._sums(self.members, values).max(axis=2)

    def _sums(self, matrix: csr_array, values: Array) -> Array:
        """Of ``(s, entries, r)``, by a matrix ``(pairs, entries)``."""
        rows = values.swapaxes(0, 1).reshape(values.shape[1], -1)
        return np.asarray(matrix @ rows).reshape(len(self.pairs), len(values), -1)


CUT = 0.49
"""Share of a step below which it is a part; before jumps steps are longer than half of the given one."""
MUCH, STANDS_OUT = 0.1, 10.0
"""Share of the largest change of a force that is large, too; how much faster than in steps beside it is at once."""


def passed(system: System, history: History, step: float | VariableStep, method: Method) -> list[str]:
    """What is to be said of the derivatives of a run."""
    if not system.watched:
        return []
    t = np.asarray(history.t)
    if system.kinked:
        sides = np.array([system.branches(system.evaluate_at(history.state(k))) for k in range(len(t))])
        changes = sides[:-1] != sides[1:]
        moved = np.flatnonzero(changes.any(axis=1))
        owners = owners_of_branches(system, system.evaluate_at(history.state(0)))
        laws = dict.fromkeys(owners[k] for k in np.flatnonzero(changes.any(axis=0)))
        how = (
            "take a fixed step and GeneralizedAlpha, which cuts steps there, and compare two steps"
            if isinstance(step, VariableStep) or method.error_order is None
            else "compare two steps, or take one that resolves what follows"
        )
        if len(moved):
            return [
                f"{len(moved)} steps cross kinks of laws, first at t = {t[moved[0]]:.6g} s ({listed(laws, '; ')}), "
                "at instants that move with the parameters: derivatives may miss several per cent, tens of them where "
                f"steps are not cut there, however exact the run is; {how}"
            ]
    if not any(batch.asks for batch in system.batches):
        return []
    cut = (
        np.zeros(len(t) - 1, np.bool_)
        if isinstance(step, VariableStep)
        else np.append(np.diff(t)[:-1] < CUT * step, False)
    )
    sudden, owners = _sudden(system, history, cut)
    if not sudden.any():
        return []
    first, names = t[sudden.any(axis=1).argmax()], [owners[k] for k in np.flatnonzero(sudden.any(axis=0))]
    return [
        f"a function bends or jumps at once and no law tells of it, first about t = {first:.6g} s: "
        f"{listed(names, '; ')}. Derivatives may be wrong by a share there, several per cent or more, however exact "
        "the run is: let the function bend smoothly, or compare steps of other lengths"
    ]


def _sudden(system: System, history: History, cut: BoolArray) -> tuple[BoolArray, list[str]]:
    """In which steps functions of users bend or jump, ``(steps, functions)``, and whose they are.

    In parts of steps, which were ``cut``, they leave their tangents, or make much of what forces change there; in
    whole ones their forces change far more than in those beside.
    """
    states, changes, sudden, owners = [history.state(k) for k in range(len(cut) + 1)], [], [], list[str]()
    for batch, rows in zip(system.batches, system.components, strict=True):
        forces = over_time(history, list(dict.fromkeys(batch.owners)), lambda *given: of_force(*given)[0])
        weight = np.tile(system.weight[rows], batch.terms)
        changes.append((np.abs(np.diff(forces, axis=0)) / weight).max(axis=2, initial=0.0))
    least = MUCH * max(own[cut].max(initial=0.0) for own in changes)
    bends = [set(bent(system, *pair)) if own else set[int]() for own, pair in zip(cut, pairwise(states), strict=True)]
    for k, (batch, own) in enumerate(zip(system.batches, changes, strict=True)):
        if batch.asks:
            beside = np.pad(own / np.diff(history.t)[:, None], ((1, 1), (0, 0)))
            jumps = (beside[1:-1] > STANDS_OUT * np.maximum(beside[:-2], beside[2:])) & (own > MUCH * own.max(axis=0))
            bend = np.array([k in each for each in bends])[:, None]
            sudden.append(cut[:, None] & (bend | (own > least)) | jumps)
            owners += map(str, batch.owners)
    return np.hstack(sudden), owners
