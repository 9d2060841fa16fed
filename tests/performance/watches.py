"""What watches cost: two runs of a model, with one and without, in turns.

``python tests/performance/watches.py [steps]`` prints medians: CPU time of a step without it, and the ratio with
it. First the watch for kinks, step by step, of models that cross none. Then, by ``FEM_MBS_FAST=0``, local errors of
steps, which Newton's method ends by, the estimate of the error of the run beside them, and that with errors that are
carried along, in blocks of 24 steps, each of which has one look at what lasts. With kernels the local errors are a part
of these, and only what carrying errors along costs is told.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import describe
from steps import chain

import fem_mbs as mbs
from fem_mbs.alpha import generalized_alpha, local_error
from fem_mbs.alpha.local_error import StepErrors, highest_derivatives
from fem_mbs.alpha.newmark import AccelerationHistory
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import flexible, linkages, tops
from fem_mbs.compiled import accelerate, in_use
from fem_mbs.elements import PID, JointActuator, JointForce, JointSensor, JointStop, PositionMotor
from fem_mbs.run.fixed_step import FixedStep
from fem_mbs.run.interfaces import Plan
from fem_mbs.run.time_loop import TimeIntegration
from fem_mbs.system.system import System

sys.path.append(str(Path(__file__).parents[2] / "examples"))
from _pendulums import double

STEP = 1e-3
BLOCK, FIRST = 24, 240
"""Steps of which one is looked at, and after how many that is so."""
MACHINES: dict[str, tuple[Callable[[], mbs.Model], float]] = {
    "heavy top": (tops.top_on_joint, 1e-3),
    "double pendulum": (double, 2e-3),
    "slider-crank": (linkages.slider_crank, 2e-3),
    "four-bar": (lambda: flexible.four_bar()[0], 2e-3),
    "cantilever": (lambda: flexible.right_angle_cantilever()[0], 2e-2),
    "chain of ten": (lambda: chain(10), 1e-3),
}


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
            system.kinked, system.watched = [], []
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


class EveryStep(FixedStep):
    """Steps that all pass."""

    def judge(self, memory: Any, plan: Plan, *asked: Any) -> tuple[bool, Any]:
        return True, memory._replace(target=memory.target + 1)


def costs_of_errors(build: Callable[[], mbs.Model], h: float, steps: int) -> Array:
    """Seconds of a step that asks nothing of its error, and the ratios ``(3,)`` with its local error, looks, and all.

    Newton's method goes as far as local errors let it: steps without are given those of the others.
    """
    t_end, asked, looked_at = 1.1 * (FIRST + steps) * h, generalized_alpha.errors_of_step, local_error.looked_at

    def run(control: FixedStep) -> TimeIntegration:
        return TimeIntegration(System(build(), t_end), mbs.GeneralizedAlpha(), control, t_end, None)

    errors, first = [], run(FixedStep(h))
    for _ in range(FIRST + steps):
        first.advance()
        errors.append(first.memory.accelerations.error)

    def given(scheme: Any, equations: Any, solution: Any, new: mbs.State, memory: Any) -> StepErrors:
        before, now, t = memory.accelerations, highest_derivatives(scheme.system, new), equations.state.t
        error = errors[memory.steps]
        history = AccelerationHistory(now, t, before.now, before.t_old, before.old, error)
        return StepErrors(error, None, history, None, False)

    runs = run(EveryStep(h)), run(EveryStep(h)), run(FixedStep(h)), run(FixedStep(h))

    def block(which: int, count: int) -> float:
        generalized_alpha.errors_of_step = asked if which else given
        local_error.looked_at = looked_at if which > 1 else lambda k: False
        started = time.process_time()
        for _ in range(count):
            runs[which].advance()
        return time.process_time() - started

    for which, own in enumerate(runs):
        block(which, FIRST)
        if which < 3:
            own.memory = own.memory._replace(errors=None)
    times = np.empty((steps // BLOCK, 4))
    for k in range(len(times)):
        for which in np.roll(range(4), k):
            times[k, which] = block(which, BLOCK)
    generalized_alpha.errors_of_step, local_error.looked_at = asked, looked_at
    for own in runs[1:]:
        np.testing.assert_allclose(own.state.x, runs[0].state.x, rtol=0, atol=1e-9)
    return np.append(np.median(times[:, 0]) / BLOCK, np.median(times[:, 1:] / times[:, :1], axis=0))


def cost_of_carrying(build: Callable[[], mbs.Model], h: float, steps: int) -> tuple[float, float]:
    """Seconds of a step, as a run takes it, and the ratio with errors that are carried along."""
    runs = []
    for on in (False, True):
        system = System(build(), 1.1 * (FIRST + steps) * h)
        accelerate(system)
        runs.append(TimeIntegration(system, mbs.GeneralizedAlpha(), FixedStep(h), system.end, None))
        for _ in range(FIRST):
            runs[-1].advance()
        if not on:
            runs[-1].memory = runs[-1].memory._replace(errors=None)
    times = np.empty((steps // BLOCK, 2))
    for k in range(len(times)):
        for which in (0, 1) if k % 2 else (1, 0):
            started = time.process_time()
            for _ in range(BLOCK):
                runs[which].advance()
            times[k, which] = time.process_time() - started
    return float(np.median(times[:, 0]) / BLOCK), float(np.median(times[:, 1] / times[:, 0]))


if __name__ == "__main__":
    print(describe())
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for links in (1, 2, 10):
        for add in (stops, motors, controller, law):
            seconds, ratio = costs(links, add, count)
            print(f"{add.__name__:10s} on {links:2d} hinges: a step {1e6 * seconds:6.0f} us, watched {ratio:.3f} times")
    for name, (build, h) in MACHINES.items():
        if in_use():
            seconds, carried = cost_of_carrying(build, h, count)
            print(f"{name:16s}: a step {1e6 * seconds:6.0f} us, errors carried along {carried:.3f} times", flush=True)
            continue
        seconds, local, whole, carried = costs_of_errors(build, h, count)
        ratios = f"with local errors {local:.3f}, estimated {whole:.3f}, carried along {carried:.3f} times"
        print(f"{name:16s}: a step {1e6 * seconds:6.0f} us, {ratios}", flush=True)
