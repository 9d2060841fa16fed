"""The laws of the contract of methods of time integration.

They are tried on models of moderate frequencies, moving from the start, anywhere in space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.contracts import Method, State, Step, checked, remembered
from fem_mbs.elements import (
    Beam,
    BeamSection,
    Force,
    FrictionSpring,
    Maxwell,
    ModalBody,
    RevoluteJoint,
    RigidBody,
    SphericalJoint,
    SpringDamper,
)
from fem_mbs.errors import FemMbsError, LawError, ModelError
from fem_mbs.files.store.values import Record, record
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate, start
from fem_mbs.run.variable_step import VariableStep
from fem_mbs.solution.solution import Solution
from fem_mbs.system import constraints
from fem_mbs.system.matrices import velocity_residual
from fem_mbs.system.system import System
from fem_mbs.testing.differences import ContractError, DoesNotApplyError, LawReport, hold, laws, near
from fem_mbs.testing.stage import AWAY, GRAVITY, HOME, RigidMotion

SECTION = BeamSection(EA=30.0, GA=(10.0, 12.0), GJ=3.0, EI=(4.0, 5.0), mass=1.3, inertia=(0.3, 0.1, 0.2))
SPIN = np.array([0.3, -0.4, 1.2])


def free(group: str = "R3xSO3", pose: RigidMotion = HOME) -> Model:
    """Two bodies, one with a mode, on a damped beam, with a Maxwell element to the ground; no joints."""
    model = _model(group, pose)
    first, middle, last = (_node(model, pose, place) for place in ((0.4, 0, 0.1), (1.0, 0.2, 0), (1.7, 0, 0.3)))
    model.add(RigidBody(first, 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)))
    model.add(Beam([first, middle, last], SECTION.with_damping(0.05), pose.vector((0, 1, 2))))
    model.add(
        ModalBody(last, 1.5, (0.4, 0.5, 0.6), [1.0], [15.0], modal_damping=[0.2], translation=[[0.4], [0.2], [0.1]])
    )
    model.add(Maxwell(model.ground, last, 5.0, 4.0, point_a=pose.point((1.5, -1, 1))))
    model.add(Force(middle, lambda t: pose.vector((np.sin(3 * t), 2.0, 3.0 * t))), name="push")
    return model


def joined(group: str = "R3xSO3", pose: RigidMotion = HOME) -> Model:
    """A driven crank, a rod on a ball joint, and a disc with a mode on a hinge at its end."""
    model = _model(group, pose)
    crank, *rod, disc = (
        _node(model, pose, place, np.array([0.0, 0.0, 1.2]))
        for place in ((0.5, 0, 0), (1, 0, 0), (1.6, 0.1, 0), (2, 0.5, 0), (2, 0.7, 0.1))
    )
    model.add(RigidBody(crank, 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3)))
    model.add(Beam(rod, SECTION.with_damping(0.05), pose.vector((0, 1, 2))))
    model.add(
        ModalBody(disc, 1.0, (0.2, 0.2, 0.3), [1.0], [15.0], modal_damping=[0.2], translation=[[0.3], [0.2], [0.1]])
    )
    model.add(Maxwell(crank, disc, 5.0, 4.0, point_b=disc.at((0.1, 0.2, -0.1))))
    axis, origin = pose.vector((0, 0, 1)), pose.point((0, 0, 0))
    model.add(RevoluteJoint(model.ground, crank, axis, origin, drive=lambda t: 1.2 * t + 2.0 * t**2), name="motor")
    model.add(SphericalJoint(crank, rod[0]))
    model.add(RevoluteJoint(rod[-1], disc, pose.vector((0, 1, 1))))
    model.add(Force(disc, lambda t: pose.vector((t, 2, 3))), name="push")
    return model


def bodies(group: str = "R3xSO3", pose: RigidMotion = HOME) -> Model:
    """A driven crank, a rod on a ball joint and a disc on a hinge, all rigid and with nodes at their mass centres."""
    model = _model(group, pose)
    spin = np.array([0.0, 0.0, 1.2])
    crank, rod, disc = (_node(model, pose, place, spin) for place in ((0.5, 0, 0), (1.6, 0.1, 0), (2, 0.7, 0.1)))
    for node, mass in ((crank, 2.0), (rod, 1.3), (disc, 1.0)):
        model.add(RigidBody(node, mass, (0.5 * mass, mass, 1.2 * mass)))
    model.add(SpringDamper(crank, disc, 30.0, 0.5, point_b=disc.at((0.1, 0.2, -0.1))))
    axis, origin = pose.vector((0, 0, 1)), pose.point((0, 0, 0))
    model.add(RevoluteJoint(model.ground, crank, axis, origin, drive=lambda t: 1.2 * t + 2.0 * t**2), name="motor")
    model.add(SphericalJoint(crank, rod, pose.point((1, 0, 0))))
    model.add(RevoluteJoint(rod, disc, pose.vector((0, 1, 1)), pose.point((2, 0.5, 0))))
    model.add(Force(disc, lambda t: pose.vector((t, 2, 3))), name="push")
    return model


def slipping() -> Model:
    """A body thrown against a spring that slips."""
    model = Model()
    body = model.add_node((1, 0, 0), velocity=(2, 0.3, 0), angular_velocity=SPIN)
    model.add(RigidBody(body, 1.0, (1.0, 2.0, 2.5)))
    model.add(FrictionSpring(model.ground, body, stiffness=40.0, limit=5.0), name="brake")
    return model


def failing(until: float) -> Model:
    """A body under a force that is no number after some time."""
    model = Model()
    body = model.add_node((1, 0, 0), velocity=(2, 0.3, 0))
    model.add(RigidBody(body, 1.0, (1.0, 2.0, 2.5)))
    model.add(Force(body, lambda t: (1.0, t, 0.0 if t <= until else np.nan)), name="push")
    return model


def _model(group: str, pose: RigidMotion) -> Model:
    return Model("R3xSO3" if group == "mixed" else group, pose.vector(GRAVITY))


def _node(model: Model, pose: RigidMotion, place: tuple[float, float, float], spin: Array = SPIN):  # type: ignore[no-untyped-def]
    """A node that turns about the origin with everything else."""
    velocity = pose.vector(np.cross(spin, place))
    return model.add_node(pose.point(place), pose.Q, velocity, spin)


STEP, T_END = 0.02, 0.4
PATTERN = np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 2.0, 2.0])
"""Lengths of steps that change, again and again."""
QUANTITIES = ("x", "R", "v", "u")
NEWTON_ERROR = 1e-7
"""What Newton's tolerance and rounding make of a run."""
CLOSED = 1e-10
"""What Newton's tolerance leaves of joints, against the extent of the model."""
ARRAYS = (*QUANTITIES, "vdot", "multipliers_all", "udot", "uddot")


class Bench:
    """The model that a method is tried on: the first that it takes, with joints and beams, one of them, or bodies."""

    def __init__(self, method: Method) -> None:
        self.method, self.name = method, type(method).__name__
        self.make: Callable[..., Model] = bodies
        for make in (joined, free, bodies):
            try:
                method.check(System(make()))
            except ModelError:
                if make is bodies:
                    raise
            else:
                self.make = make
                break
        self._runs: dict[Any, Solution] = {}

    @property
    def sizes(self) -> Array:
        """Three steps, each half of the one before; errors of first order need short ones to fall as they should."""
        longest = STEP / 4.0 if self.method.order == 1 else STEP
        return longest * np.array([1.0, 0.5, 0.25])

    @property
    def reference(self) -> Solution:
        """A run whose errors are small beside those of the two longer steps."""
        return self.run(self.sizes[-1] / np.ceil(4 / self.method.order))

    @property
    def t_end(self) -> float:
        """End of the runs with these steps, as many for all methods."""
        return T_END / 4.0 if self.method.order == 1 else T_END

    def run(self, h: float, group: str = "R3xSO3", pose: RigidMotion = HOME) -> Solution:
        """A run with equal steps."""
        if (key := (h, group, pose)) not in self._runs:
            self._runs[key] = simulate(self.make(group, pose), self.t_end, h, self.method)
        return self._runs[key]

    def steps(self, sizes: Iterable[float], model: Model | None = None) -> Iterator[tuple[System, State, Any, Step]]:
        """System, state and memory before each of some steps, and the step."""
        sizes = list(sizes)
        system = System(self.make() if model is None else model)
        state = start(system, self.method)
        memory = self.method.init(system, state, sizes[0])
        for h in sizes:
            step = self.method.step(system, state, h, memory)
            yield system, state, memory, step
            state, memory = step.state, step.memory


def order_is_as_said(bench: Bench) -> None:
    """Halving the step divides errors by ``2^order``, to 0.1 of the order, in the limit of short steps.

    Where terms of higher order still show, the limit follows from how fast they fall.
    """
    sizes = bench.sizes
    while len(bench.run(sizes[0]).t) > round(bench.t_end / sizes[0]) + 1:  # a step in halves errs less
        sizes = sizes / 2
    for name in QUANTITIES:
        if not getattr(bench.run(sizes[0]), name).size:
            continue
        apart = _apart(bench, name, sizes)
        if abs((found := _fall(*apart)) - bench.method.order) > 0.1:
            apart = _apart(bench, name, sizes / 2)
            if abs(2.0 * _fall(*apart) - found - bench.method.order) <= 0.1:
                continue
        _order(f"order of {name}", apart, bench.method.order, below=0.1, above=0.1)


def _apart(bench: Bench, name: str, sizes: Array) -> list[float]:
    """How far three runs, each with half the step, are apart."""
    runs = [getattr(bench.run(h), name) for h in sizes]
    every = (len(runs[0]) - 1) // round(T_END / STEP)
    apart = []
    for coarse, fine in pairwise(runs):
        d = coarse[::every] - fine[:: 2 * every]
        apart.append(float(np.sqrt(np.mean(d**2))))
        every *= 2
    return apart


def groups_agree_in_the_limit(bench: Bench) -> None:
    """The distance between runs on both groups falls with the order of the method, where there is one."""
    apart = [_distance(bench.run(h).x, bench.run(h, "SE3").x) for h in bench.sizes[:2]]
    if apart[0] <= 10.0 * NEWTON_ERROR:
        raise DoesNotApplyError("both groups agree to rounding")
    what = "order of the distance between runs on R3xSO3 and SE3"
    _order(what, apart, bench.method.order, below=0.3, above=np.inf)


def steps_are_pure(bench: Bench) -> None:
    """The same call twice gives the same step to the bit, and changes neither state nor memory."""
    for k, (system, state, memory, step) in enumerate(bench.steps(4 * [STEP])):
        kept = _flat((state, memory))
        again = bench.method.step(system, state, STEP, memory)
        for what, first, second in (("its step", _flat(step[:2]), _flat(again[:2])), ("what it was given", kept, None)):
            second = _flat((state, memory)) if second is None else second
            if len(first) != len(second) or not all(map(partial(np.array_equal, equal_nan=True), first, second)):
                raise ContractError(f"step {k + 1}, made twice, changes {what}; keep nothing but memory")
        near(f"time of step {k + 1}", step.state.t, state.t + STEP, 1e-14)


def memory_can_be_stored(bench: Bench) -> None:
    """It is the NamedTuple ``Memory`` of numbers, arrays, None, and tuples of these."""
    for _, _, before, step in bench.steps(2 * [STEP]):
        for memory in (before, step.memory):
            if not isinstance(memory, bench.method.Memory):
                raise ContractError(f"its memory is no {bench.method.Memory.__name__}, but {memory!r}")
            for name, value in memory._asdict().items():
                if not all(isinstance(v, int | float | np.ndarray | np.number | None) for v in _members(value)):
                    raise ContractError(f"memory.{name} is neither a number nor an array, but {value!r}")


def a_run_goes_on_from_a_file(bench: Bench) -> None:
    """A run that is stored, read back and continued is the run that never stopped, to the bit."""
    model = bench.make()
    whole = simulate(model, 1.5 * T_END, STEP, bench.method)
    half = simulate(model, T_END, STEP, bench.method).checkpoint
    memory = remembered(bench.method.Memory, Record(record(**half.memory._asdict())).values)
    rest = simulate(model, 1.5 * T_END, STEP, bench.method, initial=replace(half, memory=memory))
    for name in ARRAYS:
        if not np.array_equal(getattr(whole, name)[-len(rest.t) :], getattr(rest, name)):
            raise ContractError(
                f"{name} of a run that was stored and continued differs from that of a run in one; what "
                "the method goes on with has to be in its memory"
            )


def order_survives_changes_of_the_step(bench: Bench) -> None:
    """Steps that go up and down leave the order as it is."""
    reference, errors = bench.reference.state(-1), []
    for h in bench.sizes[:2]:
        *_, (*_, last) = bench.steps(np.tile(h * PATTERN, round(bench.t_end / (h * PATTERN.sum()))))
        errors.append([_distance(getattr(last.state, name), getattr(reference, name)) for name in QUANTITIES])
    for name, first, second in zip(QUANTITIES, *errors, strict=True):
        if first:
            what = f"order of {name} with steps that change"
            _order(what, (first, second), bench.method.order, below=0.3, above=np.inf)


def errors_are_estimated(bench: Bench) -> None:
    """The local error falls with ``error_order``; a method without one is refused by steps of variable length."""
    expected = bench.method.error_order
    if expected is None:
        try:
            simulate(bench.make(), T_END, VariableStep(1e-2), bench.method)
        except ModelError:
            return
        raise ContractError("VariableStep takes it, though it has no error_order")
    local = []
    for h in bench.sizes[:2]:
        steps = [step for *_, step in bench.steps(round(bench.t_end / h) * [h])]
        errors = [step.error for step in steps if step.error is not None]
        if len(errors) < len(steps):
            raise ContractError(f"error_order = {expected}, but its steps have no error")
        local.append(float(np.mean(errors[len(errors) // 2 :])))
    _order("power of the step in its error", local, expected, below=0.2, above=0.2)
    reference = bench.run(bench.sizes[-1]).x[-1]
    runs = (
        simulate(bench.make(), bench.t_end, VariableStep(own, largest=bench.t_end / 4), bench.method)
        for own in (1e-1, 1e-2)
    )
    coarse, fine = (_distance(run.x[-1], reference) for run in runs)
    near("error of a run with the tolerance 1e-2", fine, 0.0, min(coarse, 1e-1))


def moving_everything_changes_nothing(bench: Bench) -> None:
    """A model that is built elsewhere in space moves there as here.

    Of coordinates that depend on the axes of the world, it does so with their order.
    """
    apart = []
    for h in bench.sizes[: 1 if bench.method.invariant else 2]:
        here, there = (bench.run(h, pose=pose).state(-1) for pose in (HOME, AWAY))
        x, R = here.x @ AWAY.Q.T + AWAY.c, AWAY.Q @ here.R
        apart.append(max(_distance(there.x[1:], x[1:]), _distance(there.R[1:], R[1:])))
    if bench.method.invariant:
        near("positions and rotations of the model moved rigidly", apart[0], 0.0, NEWTON_ERROR)
    elif apart[0] > 10.0 * NEWTON_ERROR:
        what = "order of the distance of the model from the one moved rigidly"
        _order(what, apart, bench.method.order, below=0.3, above=np.inf)


def constraints_hold_on_their_levels(bench: Bench) -> None:
    """On the ``levels`` that the method names joints are closed, all as increments of a step."""
    h = float(bench.sizes[0])
    solution = bench.run(h)
    if not (system := solution.system).m:
        raise DoesNotApplyError("it takes no joints")
    states = map(solution.state, range(len(solution.t)))
    prescribed = ((system.prescribe(state.t), system.motion(state), state.multipliers) for state in states)
    found = {"position": 0.0, "velocity": 0.0, "acceleration": 0.0}
    for evaluation in (system.evaluate(motion, multipliers, data) for data, motion, multipliers in prescribed):
        velocity, acceleration = velocity_residual(system, evaluation), constraints.acceleration(system, evaluation)
        residuals = evaluation.constraint, h * velocity, h * h * acceleration
        for level, residual in zip(found, residuals, strict=True):
            found[level] = max(found[level], float(np.abs(residual * system.constraint_weight).max()))
    for level in bench.method.levels:
        near(f"constraints of level '{level}', which it says it keeps", found[level], 0.0, CLOSED)


def history_is_accepted(bench: Bench) -> None:
    """Internal variables of kind "history" are as their elements leave them after each step."""
    try:
        bench.method.check(System(slipping()))
    except ModelError:
        raise DoesNotApplyError("it takes no elements with a history") from None
    changed, hint = False, "A step ends with system.accept(state)"
    for system, state, _, step in bench.steps(10 * [STEP], slipping()):
        near("history after a step", step.state.u, system.accept(step.state).u, 1e-12, hint)
        changed |= bool((step.state.u != state.u).any())
    if not changed:
        raise ContractError(f"the spring that slips never did. {hint}")


def a_failure_keeps_the_steps(bench: Bench) -> None:
    """An error of an element or a law ends the run with all steps before it."""
    until = 5.5 * STEP
    try:
        simulate(failing(until), T_END, STEP, bench.method)
    except LawError as error:
        if error.solution is None or len(error.solution.t) < 5:
            raise ContractError("a law failed after five steps, and the solution so far is lost") from error
        return
    except FemMbsError as error:
        raise ContractError(f"the error of a law became another one: {error}") from error
    raise ContractError("a force that is no number passed without a word")


METHOD_LAWS = laws(
    memory_can_be_stored,
    steps_are_pure,
    order_is_as_said,
    order_survives_changes_of_the_step,
    errors_are_estimated,
    groups_agree_in_the_limit,
    constraints_hold_on_their_levels,
    moving_everything_changes_nothing,
    a_run_goes_on_from_a_file,
    history_is_accepted,
    a_failure_keeps_the_steps,
)
"""All laws by name."""


@checked
def check_method(method: Method) -> LawReport:
    """Hold a method to the laws of its contract; says which of them were checked.

    It is tried on a mechanism with a driven hinge, a beam, and elements with internal variables; without joints if
    it refuses these.

    Raises
    ------
    ContractError
        If a law does not hold; says which, and what that looks like.

    Examples
    --------
    >>> import fem_mbs as mbs
    >>> from fem_mbs.testing import check_method
    >>> laws = check_method(mbs.RungeKuttaMuntheKaas())
    """
    return hold(type(method).__name__, METHOD_LAWS, Bench(method))


def _distance(one: Array, other: Array) -> float:
    """Largest distance, over all times of a run where there are more of them in the other."""
    every = (len(other) - 1) // (len(one) - 1) if len(other) > len(one) else 1
    return float(np.abs(one - other[::every]).max(initial=0.0))


def _order(what: str, errors: Sequence[float], expected: float, below: float, above: float) -> None:
    """Refuse errors, of which the second is at half the step, that do not fall with an order."""
    (first, second), found = errors, _fall(*errors)
    if not -below <= found - expected <= above:
        text = f"{what} is {found:.2f}, expected {expected} ({first:.3g} at twice the step of {second:.3g})"
        raise ContractError(text)


def _fall(first: float, second: float) -> float:
    return float(np.log2(first / second)) if second else np.inf


def _members(value: Any) -> tuple[Any, ...]:
    return tuple(own for part in value for own in _members(part)) if isinstance(value, tuple) else (value,)


def _flat(values: Any) -> list[Array]:
    """All numbers of states, memories and tuples of these, as copies."""
    if isinstance(values, State):
        return [np.array(getattr(values, own.name)) for own in fields(State) if own.compare]
    if isinstance(values, tuple):
        return [part for value in values for part in _flat(value)]
    return [np.array(np.nan if values is None else values, dtype=float)]
