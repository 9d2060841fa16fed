"""What contacts do at an instant: impulses, corrections of places, and forces, by one matrix.

With the KKT matrix of the mass and the joints, ``[[M, B^T], [B, 0]]``, whose inverse has ``A`` in its upper left,
impulses ``P`` of contacts with the gradients ``G`` change velocities by ``A G^T P`` and the rates of gaps and slips by
``G A G^T P`` (the matrix of Delassus). The same matrix tells what pushes along contacts do to places, and what forces
do to accelerations.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.sparse import diags_array

from fem_mbs.alpha.starting_values import StepMatrix
from fem_mbs.arrays import Array, BoolArray, IntArray
from fem_mbs.contact.complementarity import Laws, Pushes, push
from fem_mbs.contact.contacts import NO_FORCES, ContactForces, Contacts, MeasuredContacts, Selection
from fem_mbs.contact.many import Matrix, block, connected, effects, per_mass, without_held
from fem_mbs.contracts import State
from fem_mbs.contracts.arguments import listed
from fem_mbs.contracts.unilateral import IMPULSES, TIME, TOUCHING, WORK
from fem_mbs.initial.consistent_start import accelerations
from fem_mbs.initial.state_point import place_of, without_accelerations
from fem_mbs.linear.solvers import Factors
from fem_mbs.newton import NotConvergedError
from fem_mbs.system.matrices import leading_matrix, solve_with_constraints
from fem_mbs.system.pattern import TINY
from fem_mbs.system.system import System

CORRECTIONS = 12
SHAKEN = 1e-6
"""Share of the extent, or of velocities, for differences."""
MOST = 2.0
"""Errors of velocities over the largest velocity before an impact, which no motion beside exceeds by more."""
ONCE_MORE = 1.0 + 1e-9
"""Steps within which a contact that is hit again rattles."""
ACTS = 1e-6
"""Reaction over the largest that a push along a contact has."""
NO_GAIN, HALVINGS = 1e-10, 32
"""Energy that impulses bring, over what they exchange, that is rounding; halvings of the share that keeps it."""
NO_HIT = 1e-12
"""Impulse, and energy that it exchanges, over the largest, of what rests and is not hit itself."""
YIELDS = 1e-6
"""Compliance of contacts, over what they do to themselves, in each correction of places: gaps that contradict each
other by rounding, as those of faces that lie on each other, would lead far away."""
PLACED = 1e-13
"""Largest gap that is left of corrections, over the extent of the model."""


class Mobility:
    """What pushes along some contacts do, the joints closed."""

    def __init__(self, system: System, at: MeasuredContacts, factors: Factors) -> None:
        self.system, self.G, self.factors = system, at.gradients, factors
        moving = np.append(np.ones(6 * system.n), system.order >= 2)
        self.moves: Matrix = diags_array(moving) @ effects(system, factors, self.G)[0]
        """``A G^T`` (N, 3k)."""
        delassus = self.G @ self.moves
        self.delassus: Matrix = without_held(0.5 * (delassus + delassus.T), per_mass(system, self.G)[::3])
        self.held = self.delassus.diagonal()[::3] == 0.0
        """Whose normal forces move nothing, ``(k,)``."""


def mobility_by_mass(contacts: Contacts, state: State, at: MeasuredContacts) -> Mobility:
    """In the metric of the mass: of impulses, and of forces."""
    system, place = contacts.open, place_of(contacts.without(state))
    factors = system.solver.factor(leading_matrix(system, without_accelerations(system, place)))
    return Mobility(system, at, factors)


def impulses(
    G: Matrix, now: Array, back: Array, friction: Array, *, given: Array | float = 0.0, near: Array | None = None
) -> Pushes:
    """Impulses by Newton's law, ``0 <= P_N, gap'+ - back >= 0``, and Coulomb's, that bring no energy.

    Where bodies are hit while they slide, or in several points at once, both laws may bring some (Kane). With nothing
    that comes back they never do, as ``E+ - E- = P xi+ - P G P/2`` and friction acts against the slip after it. Between
    these lies what conserves energy: there all that comes back in impacts that are connected is less by one share
    (Glocker, Multibody System Dynamics 29, 2013, on which restitutions are consistent).

    Parameters
    ----------
    G : (3k, 3k)
        Rates per impulse.
    now : (k, 3)
        Rates before.
    back : (k,)
        Speeds with which gaps are to open.
    friction : (k,)
        Coefficients.
    given : (k, 3), optional
        Impulses that forces have brought so far, of which the laws are, too: so much may be taken back.
    near : (k, 3), optional
        Where to begin.
    """
    none = np.zeros_like(now)
    given, near = none + given, near if near is None else near + given
    now = now - (G @ given.ravel()).reshape(-1, 3)

    def obeying(share: Array) -> tuple[Pushes, Array]:
        """Impulses, and the energy that those of each contact bring."""
        c = now.copy()
        c[:, 0] -= share * back
        found = push(G, c, friction, guess=near, last=none)
        return found, (found.P * (now + 0.5 * (G @ found.P.ravel()).reshape(-1, 3))).sum(axis=1)

    share = np.ones(len(now))
    (P, solved), brings = obeying(share)
    exchanged = np.abs(P * now).sum(axis=1)
    rounding = np.maximum(NO_GAIN * exchanged, NO_HIT * exchanged.max(initial=0.0))  # of what is hit beside none
    if (brings <= rounding).all() if solved else not back.any():
        return Pushes(P - given, solved)
    label = connected(G, len(now))
    if not solved:  # nothing comes back where that is, as of the end of a hinged rod on which friction jams it
        parts = [np.flatnonzero(label == own) for own in np.unique(label)]
        found = [impulses(block(G, own), now[own], (len(parts) > 1) * back[own], friction[own]) for own in parts]
        P[np.concatenate(parts)] = np.concatenate([own.P for own in found])
        return Pushes(P - given, all(own.solved for own in found))
    together = partial(np.bincount, label)
    gains = (together(brings) > together(rounding))[label]
    if not gains.any():
        return Pushes(P - given, solved)
    high, share = share, np.where(gains, 0.0, share)
    (P, solved), _ = obeying(share)
    for _ in range(HALVINGS):
        middle = 0.5 * (share + high)
        trial, brings = obeying(middle)
        passes = trial.solved & gains & (together(brings) <= 0.0)[label]
        share, high = np.where(passes, middle, share), np.where(passes, high, middle)
        P = np.where(passes[:, None], trial.P, P)
    return Pushes(P - given, solved)


def strike(
    contacts: Contacts,
    state: State,
    touching: Selection,
    before: Array,
    restitution: Array,
    *,
    given: Array | float = 0.0,
    near: Array | None = None,
) -> State:
    """The state after an impact of all that touch; ``before`` (k, 3) are rates, the last ones as of ``impulses``."""
    system, at = contacts.open, touching.here(state)
    mobility, now = mobility_by_mass(contacts, state, at), at.rates()
    back = -restitution * np.minimum(before[:, 0], 0.0)
    P, solved = impulses(mobility.delassus, now, back, touching.friction, given=given, near=near)
    V = system.from_body(state.R, mobility.moves @ P.ravel())
    after = now + (mobility.delassus @ P.ravel()).reshape(-1, 3)
    if not solved or (after[:, 0] < -touching.still(state, np.inf))[mobility.held].any():
        raise NotConvergedError(_no_impulses(contacts, state, touching, mobility, P, after[:, 0]))
    size = np.abs(P).max(axis=1, initial=0.0)
    some = size > NO_HIT * size.max(initial=0.0)
    u = remembered(contacts, state, touching.numbers[some], P[some], 0.5 * (now + after)[some])
    udot = contacts.added(state.udot, system.own_of(V))
    return replace(state, v=state.v + system.nodes_of(V), u=u, udot=udot)


def remembered(contacts: Contacts, state: State, hit: IntArray, P: Array, rates: Array) -> Array:
    """Internal variables at a state with impulses ``P`` (k, 3) of what was hit, whose mean rates were these."""
    u = state.u.copy()
    rows = contacts.taken(u, hit)
    u[rows[:, IMPULSES]] += P
    u[rows[:, TIME]] = state.t
    u[rows[:, WORK]] -= (P * rates).sum(axis=1)
    return u


def errors_after(
    before: State,
    after: State,
    touching: Selection,
    restitution: Array,
    errors: Array,
    *,
    rates: Array,
    given: Array | float,
) -> Array:
    """What an impact makes of errors ``(5, N)`` of configuration and velocities; of accelerations none are known.

    A motion that is off by ``e`` and ``e_v`` meets later, by the error of the gap over the rate at which it closes.
    There the impact makes of ``v + e_v + late v'`` what its laws say, whose derivative along this is that of a
    difference; up to then the motion goes on as before it, from then on as after it. What is hit or slides in one
    motion and not in that beside makes a jump, whose derivative has no bound: velocities differ by no more than their
    size then. ``rates`` (k, 3) are those by which the impact was, which may have acted later than gaps closed.
    """
    contacts, result = touching.contacts, np.zeros_like(errors)
    system = contacts.open
    (v, a), (v_after, a_after) = (_rates(contacts.without(state)) for state in (before, after))
    at = touching.here(before)
    now = at.rates()
    closing, gaps = now[:, 0], (at.gradients @ system.to_body(before.R, errors[0]))[::3]
    late = 0.0
    if closing.min(initial=0.0) < 0.0:
        late = -gaps[closing.argmin()] / closing.min()
    moved, faster = errors[0] + late * v, errors[1] + late * a
    speed = float(np.abs(system.weight * v).max()) + TINY
    share = SHAKEN / (float(np.abs(system.weight * [moved, faster / speed]).max()) + TINY)
    if not share > TINY:  # in a motion that leads anywhere they have grown beyond all numbers
        return errors
    moved, faster = share * moved, share * faster
    x, R = system.kinematics.retract(before.x, before.R, system.nodes_of(moved))
    u = contacts.added(before.u, system.own_of(moved))
    udot = contacts.added(before.udot, system.own_of(faster))
    beside = replace(before, x=x, R=R, v=before.v + system.nodes_of(faster), u=u, udot=udot)
    earlier, later = (contacts.remembered(state, touching.numbers)[:, IMPULSES] for state in (before, after))
    try:
        closes = rates + touching.here(beside).rates() - now
        beside = strike(contacts, beside, touching, closes, restitution, given=given, near=later - earlier)
    except NotConvergedError:
        return errors
    result[0] = errors[0] + late * (v - v_after)
    result[1] = (_rates(contacts.without(beside))[0] - v_after) / share - late * a_after
    result[1] *= min(1.0, MOST * speed / (float(np.abs(system.weight * result[1]).max()) + TINY))
    return result


def errors_of_late(
    first: State, deep: State, before: State, after: State, touching: Selection, *, h: float, given: Array
) -> Array:
    """What impulses get wrong of the configuration and of velocities, ``(2, N)``, that act at the end of a part.

    They acted when gaps closed: from there on nodes have gone as these led them, in place of ``deep``, and were not
    pushed out to where they are ``before`` impulses. What comes back does so by the rate with which the gap closed
    then, not by that of the ``first`` state, and has been slowed down since. What has been hit in this step of ``h``
    already, or where it began, may have come to rest by now: velocities may miss all that comes back.
    """
    contacts = touching.contacts
    system, own, start, end = contacts.open, touching.numbers, touching.here(first), touching.here(deep)
    at, part = touching.here(before), after.t - first.t
    mobility, now = mobility_by_mass(contacts, before, at), at.rates()
    earlier, later = (contacts.remembered(state, own) for state in (before, after))
    P, starts, closing = later[:, IMPULSES] - earlier[:, IMPULSES], start.rates()[:, 0], end.rates()[:, 0]
    late = np.clip(np.divide(end.gap, closing, out=np.zeros_like(closing), where=closing < 0.0), 0.0, part)
    changes = (mobility.delassus @ P.ravel())[::3]
    back = np.divide(now[:, 0] + changes, -starts, out=np.zeros_like(starts), where=(starts < 0.0) & (P[:, 0] > 0.0))
    returns = back > SHAKEN
    missed = (closing - starts) / part * (np.minimum(back, 1.0) * (part - late) - late)
    comes_back = P * np.divide(missed, changes, out=np.zeros_like(missed), where=returns & (changes > 0.0))[:, None]
    again = earlier[:, IMPULSES].any(axis=1) & (earlier[:, TIME] >= after.t - ONCE_MORE * h)
    if again.any():
        rests = impulses(mobility.delassus, now, 0.0 * starts, touching.friction, given=given[own], near=P).P
        comes_back[again] = (P - rests)[again]
    pushed = system.kinematics.relative(deep.x, deep.R, before.x, before.R).ravel()
    pushed = np.append(pushed, contacts.without(before).u - contacts.without(deep).u)
    way, speed = (system.from_body(before.R, mobility.moves @ own.ravel()) for own in (late[:, None] * P, comes_back))
    return np.array([pushed - way, speed])


def _rates(state: State) -> Array:
    """Velocities and accelerations ``(2, N)``."""
    return np.array([state.rates, np.append(state.vdot, state.uddot)])


def _no_impulses(
    contacts: Contacts, state: State, touching: Selection, mobility: Mobility, P: Array, after: Array
) -> str:
    """Words for the contact that closes most whatever the impulses ``P``, and drives and joints on which these act."""
    system, worst = mobility.system, int(after.argmin())
    part, place = contacts.named(int(touching.numbers[worst]))
    P[worst, 0] += 1.0  # that of what joints hold is none
    reactions = np.abs(solve_with_constraints(system, mobility.factors, P.ravel() @ mobility.G, np.zeros(system.m))[1])
    acts = np.flatnonzero(reactions > ACTS * reactions.max(initial=0.0))
    drives = [str(own) for own in dict.fromkeys(system.constraint_owner[k][0] for k in acts) if own.drives()[1]]
    text = f"no impulses obey the laws of contact at t = {state.t:.6g} s: {part}: its {part.contacts[place]} "
    if not drives:
        held = dict.fromkeys(str(own) for own, _ in system.constraint_owner if set(own.nodes) == set(part.nodes))
        hint = (
            f"; {listed(held)} holds its bodies together: leave this {type(part).__name__} out, or let shapes end "
            "before the joint"
        )
        return f"{text}closes with {-after[worst]:.3g} m/s (rad/s) whatever acts{hint * bool(held)}"
    return (
        f"{text}is closed by the drives of {listed(drives)}, whatever acts: let these end where bodies touch, "
        "or use motors, which have a force"
    )


def placed(contacts: Contacts, state: State, near: BoolArray, metric: StepMatrix) -> tuple[State, BoolArray]:
    """The nearest place without depth of elements that are near, and which contacts push there.

    In the metric of a step, mass over its square and stiffness: in that of the mass alone, what is stiff would be
    deformed where one of its nodes is pushed. Each correction is of the whole way from the first place: corrections of
    what the last one has left would leave open what the first ones have pushed. Forces of the step, which pushed in
    the same metric, are found anew with it: what rests on all of a face would rock on its edges for ever.
    """
    system, first = contacts.open, state
    pushes = forces = contacts.forces(state) * [1.0, 0.0, 0.0]
    touches, closing, D = forces[:, 0] > 0.0, np.zeros(system.m), np.zeros(system.N)
    for _ in range(CORRECTIONS):
        motion, pushed = contacts.system.motion(state), pushes[:, 0] > 0.0
        gap = contacts.gaps(motion, near)
        missed = np.where(pushed, np.abs(gap), -gap) / contacts.size
        evaluation = system.joints(system.motion(contacts.without(state)), system.prescribe(state.t))
        off = np.abs(evaluation.constraint * system.constraint_weight)
        if max(missed.max(), off.max(initial=0.0)) <= PLACED:
            break
        touches[contacts.within(gap, TOUCHING)] = True
        which = Selection(contacts, touches)
        mobility, P = Mobility(system, which.at(motion), metric.factors), pushes[which.numbers]
        closing = closing - evaluation.constraint
        d, last = solve_with_constraints(system, metric.factors, np.zeros(system.N), closing)[0], P.ravel()
        d = d - mobility.moves @ forces[which.numbers].ravel()
        ahead = d + mobility.moves @ last - system.to_body(state.R, D)  # if nothing pushes otherwise than before
        c = np.zeros((which.k, 3))
        c[:, 0] = gap[which.numbers] + (mobility.G @ ahead - mobility.delassus @ last)[::3]
        laws, pushes = Laws(mobility.delassus, c, np.zeros(which.k)), np.zeros_like(pushes)
        pushes[which.numbers] = P = laws.yielding(YIELDS / laws.r[:, :1], P).pushes(P).P
        D = system.from_body(state.R, d + mobility.moves @ P.ravel())
        x, R = system.kinematics.retract(first.x, first.R, system.nodes_of(D))
        state = replace(first, x=x, R=R, u=contacts.added(first.u, system.own_of(D)))
    return state, pushed


def settled(contacts: Contacts, state: State, resting: BoolArray, h: float, *, strikes: bool = True) -> State:
    """Accelerations and forces of contacts that touch and do not part: the laws on the level of accelerations.

    Where no forces obey them (Painleve), what slides stops by an impulse without a collision, that to which contacts
    lead that yield as these become stiff (Hogan, Kristiansen, Proc. R. Soc. A 473, 2017); where none does, there are
    no forces.
    """
    system, place = contacts.open, place_of(contacts.without(state))
    free = State(*place[:4], *accelerations(system, place))
    which = Selection(contacts, resting)
    if not which.k:
        return contacts.carry_on(state, free, NO_FORCES)
    at = which.here(contacts.carry_on(state, free))
    mobility = mobility_by_mass(contacts, state, at)
    slip = at.rates()[:, 1:]
    speed = np.linalg.norm(slip, axis=1)
    moves = (speed > which.still(state, h)) & (which.friction > 0.0)
    slides = slip / np.where(moves, speed, np.nan)[:, None]
    P, solved = push(mobility.delassus, at.accelerations(), which.friction, slides)
    if not solved and strikes:
        closes = at.rates()
        closes[:, 0] = -which.still(state, h)
        with suppress(NotConvergedError):
            struck = strike(contacts, contacts.carry_on(state, free), which, closes, np.ones(which.k))
            return settled(contacts, struck, resting, h, strikes=False)
    if not solved:
        return contacts.carry_on(state, free, NO_FORCES)
    held = State(*place[:4], *accelerations(system, place, beside=P.ravel() @ mobility.G))
    return contacts.carry_on(state, held, ContactForces(which.numbers, P))
