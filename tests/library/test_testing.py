"""The laws of the contracts find what breaks them, and say what it looks like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from catalogue import ELEMENTS, JOINTS

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.contracts import Motion, Nothing
from fem_mbs.elements import FirstOrderActuator, Force, Maxwell, RevoluteJoint, RigidBody, SphericalJoint
from fem_mbs.elements.bodies import BodyBatch
from fem_mbs.elements.forces.springs import MaxwellBatch
from fem_mbs.elements.joints.relative import RelativeJoint
from fem_mbs.elements.joints.relative_batch import DrivenBatch
from fem_mbs.initial.consistent_start import accelerations
from fem_mbs.initial.state_point import place_of
from fem_mbs.testing import (
    ELEMENT_LAWS,
    JOINT_LAWS,
    METHOD_LAWS,
    Bench,
    ContractError,
    ElementTrial,
    JointTrial,
    Stage,
    check_element,
    check_joint,
    check_method,
)


def one_term_missing(matrix: Array) -> Array:
    """Without its largest entry."""
    result = matrix.copy()
    result.ravel()[np.argmax(np.abs(matrix))] = 0.0
    return result


BROKEN: dict[str, tuple[Callable[[Array], Array], str]] = {
    "zero": (np.zeros_like, "it is zero"),
    "wrong sign": (np.negative, "A wrong sign?"),
    "missing term": (one_term_missing, "A missing or wrong term?|it is zero"),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("which", ["stiffness", "damping", "mass"])
@pytest.mark.parametrize("name", ELEMENTS)
def test_a_broken_matrix_of_an_element_is_found(name: str, which: str, how: str) -> None:
    """Every matrix of every element, broken in three ways: none passes."""
    trial = ElementTrial.of(ELEMENTS[name], 0)
    _, context = trial.force()
    right = getattr(trial.batch, which)
    if (matrix := right(context)) is None or not _counted(trial, matrix, which).any():
        return
    change, words = BROKEN[how]
    setattr(trial.batch, which, lambda context: change(right(context)))
    with pytest.raises(ContractError, match=f"{which} is not the derivative that differences give.*({words})"):
        ELEMENT_LAWS["matrices_are_derivatives"](trial)


def _counted(trial: ElementTrial, matrix: Array, which: str) -> Array:
    """The columns that mean something: history has no equation, and states no acceleration."""
    order = np.append(np.full(6 * trial.system.n, 2), trial.system.order)
    return trial.dense(matrix)[:, order >= {"stiffness": 0, "damping": 1, "mass": 2}[which]]


@pytest.mark.slow
@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("which", ["gradient", "second"])
@pytest.mark.parametrize("name", JOINTS)
def test_a_broken_derivative_of_a_joint_is_found(name: str, which: str, how: str) -> None:
    trial = JointTrial.of(JOINTS[name], 0)
    change, words = BROKEN[how]
    if which == "second":
        right = trial.batch.second
        trial.batch.second = lambda context: change(right(context))  # type: ignore[method-assign]
    else:
        evaluate = trial.batch.evaluate

        def broken(motion: Motion, prescribed: Any) -> tuple[Array, Array, Any]:
            phi, B, context = evaluate(motion, prescribed)
            return phi, change(B), context

        trial.batch.evaluate = broken  # type: ignore[method-assign]
    # a constant entry of an equation of velocities is no derivative of anything: what it pushes has no counterforce
    with pytest.raises(ContractError):
        for law in ("gradient_is_the_derivative", "second_is_the_derivative_of_the_gradient", "forces_balance"):
            JOINT_LAWS[law](trial)


def body(kind: type[BodyBatch], external: bool = False) -> Callable[[Stage], RigidBody]:
    """A rigid body with another batch."""

    class Body(RigidBody):
        @classmethod
        def batch(cls, elements: Any, number: Any) -> BodyBatch:
            return kind(elements, number)

    Body.external = external
    return lambda stage: Body(stage.line[1], 2.0, (1.0, 2.0, 2.5), (0.1, 0.2, 0.3))


class Impure(BodyBatch):
    def force(self, motion: Motion, prescribed: None) -> Any:
        motion.V[:] *= 1.0 + 1e-9
        return super().force(motion, prescribed)


class Weightless(BodyBatch):
    def force(self, motion: Motion, prescribed: None) -> Any:
        return super().force(replace(motion, gravity=np.zeros(3)), prescribed)


class Lazy(BodyBatch):
    def energy(self, motion: Motion) -> Any:
        return super().energy(motion)._replace(kinetic=0.0)


class Short(BodyBatch):
    def mass(self, context: Any) -> Array:
        return super().mass(context)[:, :3]


class Skewed(BodyBatch):
    def mass(self, context: Any) -> Array:
        return super().mass(context) + np.triu(np.ones((6, 6)), 1)


class Anchored(BodyBatch):
    def force(self, motion: Motion, prescribed: None) -> Any:
        force, context = super().force(motion, prescribed)
        force[:, :3] += motion.x[self.nodes[:, 0]]
        return force, context


class Unstable(MaxwellBatch):
    def law(self, length: Array, speed: Array, state: Array, prescribed: None) -> Any:
        law = super().law(length, speed, state, prescribed)
        value, slopes = law.value.copy(), law.by_length.copy()
        value[:, 1], slopes[:, 1] = -value[:, 1], -slopes[:, 1]
        return law._replace(value=value, by_length=slopes, by_state=-slopes[..., None])


class Growing(Maxwell):
    @classmethod
    def batch(cls, elements: Any, number: Any) -> Any:
        return Unstable(elements, number)


MISTAKES: dict[str, tuple[Callable[[Stage], Any], str]] = {
    "changes the motion": (body(Impure), "Impure.force of Body .* failed: .*read-only.*work on a copy"),
    "weight left out": (body(Weightless), "Weightless: (weight: off by .* same masses|stiffness)"),
    "kinetic energy left out": (body(Lazy), "Lazy: kinetic energy against V M V/2: off by"),
    "shape": (body(Short), r"Short.mass must have the shape \(1, 6, 6\), received \(1, 3, 6\)"),
    "no symmetry": (body(Skewed), "Skewed: (mass against its transpose|mass is not the derivative)"),
    "hangs on the origin": (body(Anchored), "Anchored: (forces of the model moved rigidly|stiffness)"),
    "makes energy": (
        lambda stage: Growing(stage.line[0], stage.line[2], 30.0, 4.0),
        "Unstable: gains .* W of energy from nothing",
    ),
    "a joint": (lambda stage: SphericalJoint(*stage.line[:2]), "what was made is not an Element; check_joint is for"),
    "a world direction": (
        lambda stage: Force(stage.line[0], (1.0, 2.0, 3.0)),
        "moved rigidly: off by .* goes through stage.point or stage.vector",
    ),
    "law whose derivative is wrong": (
        lambda stage: FirstOrderActuator(*stage.line[:2], _crooked, 0.3),
        "ActuatorBatch: stiffness is not the derivative",
    ),
}


def _crooked(t: float, length: float, speed: float) -> float:
    return 3.0 * length


_crooked.by_length = lambda t, length, speed: 2.9  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_of_elements_are_explained(name: str) -> None:
    make, words = MISTAKES[name]
    with pytest.raises(ContractError, match=words):
        check_element(make)


class Timeless(DrivenBatch):
    def rates(self, context: Any) -> None:
        return None


class Motor(RevoluteJoint):
    @classmethod
    def batch(cls, constraints: Any, number: Any) -> Any:
        return Timeless(constraints, number)


class Twice(RelativeJoint):
    """Closes one motion by two equations."""

    closes = ("translation x",)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.positions, self.equations = (0, 0), ("translation x", "translation x again")


class Nameless(RelativeJoint):
    closes = ("translation x", "translation y")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.equations = ("translation", "translation")


JOINT_MISTAKES: dict[str, tuple[Callable[[Stage], Any], str]] = {
    "rates left out": (
        lambda stage: Motor(*stage.line[:2], stage.vector((0, 0, 1)), drive=lambda t: 2.0 * t),
        r"Timeless: rates: phi: off by .*rates\(\) returns None: does nothing depend on time\?",
    ),
    "more equations than closed motions": (
        lambda stage: Twice(*stage.line[:2], None),
        "its 2 equations, with its coordinates, do not stay independent",
    ),
    "equal names": (lambda stage: Nameless(*stage.line[:2], None), "2 equations with the names .* one of its own"),
    "an element": (lambda stage: RigidBody(stage.line[0], 1, (1, 1, 1)), "is not a Constraint; check_element is for"),
}


@pytest.mark.parametrize("name", JOINT_MISTAKES)
def test_mistakes_of_joints_are_explained(name: str) -> None:
    make, words = JOINT_MISTAKES[name]
    with pytest.raises(ContractError, match=words):
        check_joint(make)


@dataclass(frozen=True)
class Euler(mbs.Method):
    """The explicit method of Euler, for mistakes to be made in it."""

    order: ClassVar[int] = 1
    Memory: ClassVar[type] = Nothing

    def init(self, system: mbs.System, state: mbs.State, h: float) -> Any:
        return self.Memory()

    def step(self, system: mbs.System, state: mbs.State, h: float, memory: Any) -> mbs.Step:
        x, R = system.kinematics.retract(state.x, state.R, h * state.v)
        own = state.u + h * state.udot, state.udot + h * state.uddot
        place = place_of(state)._replace(t=state.t + h, x=x, R=R, v=state.v + h * state.vdot, u=own[0], udot=own[1])
        vdot, multipliers, u, udot, uddot = accelerations(system, place)
        new = mbs.State(place.t, x, R, place.v, vdot, multipliers, u, udot, uddot)
        return mbs.Step(system.accept(new), memory, mbs.Report(evaluations=1))

    def check(self, system: mbs.System) -> None:
        if system.m:
            raise mbs.ModelError(f"Euler: {system.constraint_owner[0][0]} is a joint")


class Boastful(Euler):
    order = 2


class Forgetful(Euler):
    """Has its memory on itself."""

    def step(self, system: mbs.System, state: mbs.State, h: float, memory: Any) -> mbs.Step:
        count = getattr(self, "count", 0) + 1
        object.__setattr__(self, "count", count)
        return super().step(system, state, h * (1.0 + 1e-9 * count), memory)


class Careless(Euler):
    """Leaves history as it is."""

    def step(self, system: mbs.System, state: mbs.State, h: float, memory: Any) -> mbs.Step:
        step = super().step(system, state, h, memory)
        return step._replace(state=replace(step.state, u=np.where(system.order < 0, state.u, step.state.u)))


class Listed(NamedTuple):
    steps: Any = ()


class Listing(Euler):
    Memory = Listed

    def step(self, system: mbs.System, state: mbs.State, h: float, memory: Any) -> mbs.Step:
        return super().step(system, state, h, Listed([*memory.steps, state]))


class Silent(Euler):
    error_order = 2


class Worldly(Euler):
    """Moves positions on R3xSO3 and SE(3) alike."""

    def step(self, system: mbs.System, state: mbs.State, h: float, memory: Any) -> mbs.Step:
        step = super().step(system, state, h, memory)
        return step._replace(state=replace(step.state, x=step.state.x + h * step.state.x[:, ::-1]))


METHOD_MISTAKES = {
    Boastful: ("order_is_as_said", "Boastful: order of .* is (0.9|1.0).*, expected 2"),
    Forgetful: ("steps_are_pure", "Forgetful: step 1, made twice, changes its step; keep nothing but memory"),
    Careless: ("history_is_accepted", "Careless: (history after a step|the spring that slips never did)"),
    Listing: ("memory_can_be_stored", "Listing: memory.steps is neither a number nor an array"),
    Silent: ("errors_are_estimated", "Silent: error_order = 2, but its steps have no error"),
    Worldly: ("moving_everything_changes_nothing", "Worldly: positions and rotations of the model moved rigidly: off"),
}


@pytest.mark.parametrize("method", METHOD_MISTAKES)
def test_mistakes_of_methods_are_explained(method: type[Euler]) -> None:
    law, message = METHOD_MISTAKES[method]
    with pytest.raises(ContractError, match=message):
        METHOD_LAWS[law](Bench(method()))


@pytest.mark.slow
def test_a_right_method_passes() -> None:
    assert len(check_method(Euler())) >= 10


def test_methods_are_tried_on_what_they_take() -> None:
    assert Bench(Euler()).make.__name__ == "free" and Bench(mbs.GeneralizedAlpha()).make.__name__ == "joined"
