"""What the watch for kinks costs: two runs of a model that cross none, with it and without, step by step in turns.

``python tests/performance/kinks.py [steps]`` prints medians: CPU time of a step without it, and the ratio with it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from measure import describe
from steps import chain

import fem_mbs as mbs
from fem_mbs.elements import PID, JointActuator, JointForce, JointSensor, JointStop, PositionMotor
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.time_loop import TimeIntegration
from fem_mbs.system.system import System

STEP = 1e-3


def hinges(model: mbs.Model) -> list[mbs.Joint]:
    """The joints of a chain."""
    return [joint for joint in model.constraints if joint.coordinates]


def stops(model: mbs.Model) -> None:
    """A stop on each hinge."""
    for joint in hinges(model):
        model.add(JointStop(joint, -50.0, 50.0, 1e4, 0.1))


def motors(model: mbs.Model) -> None:
    """A servo with a limit on each hinge."""
    for joint in hinges(model):
        model.add(PositionMotor(joint, 0.0, 5.0, 0.0, 0.5, limit=1e6))


def controller(model: mbs.Model) -> None:
    """One controller with limits, on the first hinge."""
    joint = hinges(model)[0]
    position, rate = model.add(JointSensor(joint)), model.add(JointSensor(joint, "coordinate_rate"))
    model.add(JointActuator(joint, model.add(PID(-1.0 * position, 5.0, 0.0, 0.5, rate=rate, limits=(-1e6, 1e6)))))


def law(model: mbs.Model) -> None:
    """A law of a user, on the first hinge."""
    model.add(JointForce(hinges(model)[0], lambda t, q, v: -5.0 * q - 0.5 * v))


def costs(links: int, add: Callable[[mbs.Model], None], steps: int) -> tuple[float, float]:
    """Seconds of a step without the watch, and the ratio with it."""
    model = chain(links)
    add(model)
    runs = []
    for watched in (False, True):
        system = System(model, 1.1 * steps * STEP)
        assert system.watched
        if not watched:
            system.kinked, system.watched = [], False
        control = FixedStep(STEP)
        runs.append(TimeIntegration(system, mbs.GeneralizedAlpha(), control, 1.1 * steps * STEP, None))
    times = np.empty((steps, 2))
    for k in range(steps):
        for which in (0, 1) if k % 2 else (1, 0):
            started = time.process_time()
            runs[which].advance()
            times[k, which] = time.process_time() - started
    assert runs[0].steps == runs[1].steps == steps
    half = np.median(times[10:], axis=0)
    return float(half[0]), float(np.median(times[10:, 1] / times[10:, 0]))


if __name__ == "__main__":
    print(describe())
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for links in (1, 2, 10):
        for add in (stops, motors, controller, law):
            seconds, ratio = costs(links, add, count)
            print(f"{add.__name__:10s} on {links:2d} hinges: a step {1e6 * seconds:6.0f} us, watched {ratio:.3f} times")
