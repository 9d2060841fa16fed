"""Random models whose laws have kinks (limits, stops, friction, springs that slip), and how runs of them end.

A body on a hinge or on rails, or two of them one behind the other, with one or two such laws and a step that would do
without them. The truth comes from a step that is 16 times smaller.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import (
    PID,
    Force,
    FrictionSpring,
    JointActuator,
    JointForce,
    JointFriction,
    JointSensor,
    JointSpring,
    JointStop,
    Moment,
    PointMass,
    PositionMotor,
    PrismaticJoint,
    RevoluteJoint,
    RigidBody,
    SampledController,
    Saturation,
    SpeedMotor,
)

FINER = 16
MARGIN, SHARE = 3.0, 0.02
"""A result is right within so many times its estimate, or this share of the motion."""


@dataclass
class Machine:
    """A model under way."""

    model: mbs.Model
    rng: Generator
    joint: mbs.Joint
    inertia: float
    turns: bool
    rate: float
    """Of the free motion, rad/s."""
    swing: float
    """How far it goes, m or rad."""

    @property
    def force(self) -> float:
        """What brings it to its swing."""
        return self.inertia * self.rate**2 * self.swing

    def add(self, part: Any) -> Any:
        """Take a part."""
        return self.model.add(part)


def machine(rng: Generator) -> Machine:
    """A body with a spring that oscillates, on a hinge or on rails."""
    turns, rate = bool(rng.integers(2)), float(rng.uniform(2.0, 20.0))
    inertia, swing = float(10.0 ** rng.uniform(-3.0, 1.0)), float(10.0 ** rng.uniform(-1.5, 0.3))
    model = mbs.Model(gravity=(0.0, 0.0, 0.0))
    start = rate * swing * float(rng.uniform(-1.0, 1.0))
    if turns:
        node = model.add_node((0.0, 0.0, 0.0), angular_velocity=(0.0, 0.0, start))
        model.add(RigidBody(node, inertia, (inertia, inertia, inertia)))
        joint = model.add(RevoluteJoint(model.ground, node, (0, 0, 1)))
    else:
        node = model.add_node((1.0, 0.0, 0.0), velocity=(start, 0.0, 0.0))
        model.add(PointMass(node, inertia))
        joint = model.add(PrismaticJoint(model.ground, node, (1, 0, 0)))
    made = Machine(model, rng, joint, inertia, turns, rate, swing)
    if rng.random() < 0.7:
        model.add(JointSpring(joint, inertia * rate**2, 2.0 * inertia * rate * float(rng.uniform(0.0, 0.3))))
    if rng.random() < 0.5:
        size, frequency = made.force * float(rng.uniform(0.3, 1.5)), rate * float(rng.uniform(0.3, 1.2))
        push = (0, 0, size) if turns else (size, 0, 0)
        model.add((Moment if turns else Force)(node, lambda t: np.array(push) * np.sin(frequency * t)))
    return made


def stop(m: Machine) -> None:
    """Stops, from soft to hard."""
    ends = m.swing * m.rng.uniform(0.1, 0.8, 2)
    k = m.inertia * (m.rate * float(10.0 ** m.rng.uniform(0.5, 2.3))) ** 2
    m.add(JointStop(m.joint, float(-ends[0]), float(ends[1]), k, float(m.rng.choice([0.0, 0.1, 0.5]))))


def friction(m: Machine) -> None:
    """Dry friction, with bristles or without."""
    v = m.rate * m.swing
    load = m.force * float(m.rng.uniform(0.05, 0.5))
    more = {"radius": 1.0} if m.turns else {}
    if m.rng.random() < 0.5:
        more["bristle"] = m.swing * float(10.0 ** m.rng.uniform(-4.0, -2.0))
    creep, stribeck = (v * 10.0 ** m.rng.uniform((-4.0, -2.5), (-2.0, -1.0))).tolist()
    static = float(m.rng.uniform(1.0, 1.6))
    m.add(JointFriction(m.joint, 1.0, static, preload=load, reactions=False, creep=creep, stribeck=stribeck, **more))


def slipping(m: Machine) -> None:
    """A spring that slips; on hinges friction with bristles, which does the same."""
    if m.turns:
        friction(m)
        return
    k = m.inertia * m.rate**2 * float(10.0 ** m.rng.uniform(0.0, 2.0))
    m.add(FrictionSpring(m.model.ground, m.joint.nodes[1], k, m.force * float(m.rng.uniform(0.05, 0.5))))


def _gains(m: Machine) -> tuple[float, float, float, float]:
    stiff = m.rate * float(10.0 ** m.rng.uniform(0.0, 2.0))
    P = m.inertia * stiff**2
    D = 2.0 * m.inertia * stiff * float(m.rng.uniform(0.3, 3.0))
    return P, float(m.rng.choice([0.0, 0.1])) * P * m.rate, D, m.force * float(10.0 ** m.rng.uniform(-0.5, 1.0))


def _reference(m: Machine) -> float | Callable[[float], float]:
    size, frequency = m.swing * float(m.rng.uniform(0.3, 1.0)), m.rate * float(m.rng.uniform(0.1, 0.5))
    return size if m.rng.random() < 0.5 else lambda t: size * np.sin(frequency * t)


def position_motor(m: Machine) -> None:
    """A servo at its limit."""
    P, I, D, limit = _gains(m)
    m.add(PositionMotor(m.joint, _reference(m), P, I, D, limit=limit))


def speed_motor(m: Machine) -> None:
    """A drive at its limit."""
    _, I, D, limit = _gains(m)
    m.add(SpeedMotor(m.joint, m.swing * m.rate * float(m.rng.uniform(0.1, 0.5)), D, 0.1 * I, limit=limit))


def controller(m: Machine) -> None:
    """A PID controller with limits and an actuator."""
    P, I, D, limit = _gains(m)
    position, rate = m.add(JointSensor(m.joint)), m.add(JointSensor(m.joint, "coordinate_rate"))
    error = _reference(m) - position
    force = m.add(PID(error, P, I, D, rate=-1.0 * rate, limits=(-limit, limit)))
    m.add(JointActuator(m.joint, force))


def saturation(m: Machine) -> None:
    """A state feedback that is cut off."""
    P, _, D, limit = _gains(m)
    position, rate = m.add(JointSensor(m.joint)), m.add(JointSensor(m.joint, "coordinate_rate"))
    m.add(JointActuator(m.joint, m.add(Saturation(P * (_reference(m) - position) - D * rate, (-limit, limit)))))


def sampled(m: Machine) -> None:
    """A controller that takes samples and is cut off."""
    P, _, D, limit = _gains(m)
    period = 0.2 * m.inertia * float(m.rng.uniform(0.2, 1.0)) / D
    period = max(period, 2e-3 / m.rate)
    P, D = min(P, 0.1 * m.inertia / period**2), min(D, 0.2 * m.inertia / period)
    signals = [m.add(JointSensor(m.joint)), m.add(JointSensor(m.joint, "coordinate_rate"))]
    force = SampledController(
        signals, period, lambda t, x, u: np.clip(P * (0.5 * m.swing - u[0]) - D * u[1], -limit, limit)
    )
    m.add(JointActuator(m.joint, m.add(force)))


def user_law(m: Machine) -> None:
    """A law of a user with a kink: a spring that only pushes."""
    k, gap = m.inertia * (m.rate * float(10.0 ** m.rng.uniform(0.5, 2.0))) ** 2, 0.3 * m.swing
    m.add(JointForce(m.joint, lambda t, q, v: -k * max(q - gap, 0.0)))


LAWS = (stop, friction, slipping, position_motor, speed_motor, controller, saturation, sampled, user_law)


@dataclass
class Case:
    """A model, and how to run it."""

    model: mbs.Model
    joint: mbs.Joint
    names: str
    step: float
    end: float


def case(seed: int) -> Case:
    """The model of a seed."""
    rng = np.random.default_rng([21, seed])
    m = machine(rng)
    chosen = [LAWS[seed % len(LAWS)]]
    if rng.random() < 0.3:
        chosen.append(LAWS[int(rng.integers(3))])
    for law in chosen:
        law(m)
    step = 2.0 * np.pi / m.rate / float(rng.uniform(40.0, 200.0))
    return Case(m.model, m.joint, "+".join(law.__name__ for law in chosen), step, 200.0 * step)


@dataclass
class Verdict:
    """How a run ended: right, warned, refused or silent."""

    word: str
    names: str
    error: float = 0.0
    """Over the motion."""
    estimate: float = 0.0
    steps: int = 0

    def __str__(self) -> str:
        return f"{self.word:8s} {self.names:28s} error {self.error:.1e} estimate {self.estimate:.1e} {self.steps} steps"


class _Said(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what counts as a warning of the result: repeated steps do not."""
        if "were repeated" not in (text := record.getMessage()):
            self.texts.append(text)


def judged(seed: int) -> Verdict:
    """A run with defaults against the truth."""
    own, said = case(seed), _Said()
    log = logging.getLogger("fem_mbs")
    log.addHandler(said)
    try:
        result = mbs.simulate(own.model, own.end, own.step)
    except mbs.FemMbsError as error:
        return Verdict(f"refused {str(error)[:400]}", own.names)
    finally:
        log.removeHandler(said)
    again = case(seed)
    truth = mbs.simulate(again.model, own.end, own.step / FINER)
    here, there = (_at(result, own.joint), _at(truth, again.joint))
    error, motion = float(np.abs(here - there)[1:].max()), float(np.abs(there - there[0]).max())
    accuracy = result.stats.error
    assert accuracy is not None
    turns = isinstance(own.joint, RevoluteJoint)
    estimate = accuracy.angle if turns else accuracy.length
    word = "right" if error <= max(MARGIN * estimate, SHARE * motion) else "warned" if said.texts else "silent"
    return Verdict(word, own.names, error / motion, estimate / motion, result.stats.steps)


def _at(solution: mbs.Solution, joint: mbs.Joint) -> Array:
    """The coordinate at 201 times of a run."""
    value = np.asarray(solution.coordinate(joint)).reshape(len(solution.t), -1)[:, 0]
    return np.interp(np.linspace(0.0, solution.t[-1], 201), solution.t, value)


if __name__ == "__main__":
    import sys
    import time
    from collections import Counter

    words: Counter[str] = Counter()
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        started = time.process_time()
        verdict = judged(seed)
        words[verdict.word.split()[0]] += 1
        if verdict.word != "right" or "-v" in sys.argv:
            print(seed, verdict, f"{time.process_time() - started:.1f} s", flush=True)
    print(dict(words))
