"""Loads do the work of a force at its point or of a moment, and are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue import build
from motions import jacobian, neighbour, random_motion, residual

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.elements import Force, Moment
from fem_mbs.lie import so3
from fem_mbs.testing import Stage

POINT = np.array([0.1, 0.3, -0.2])


@pytest.mark.parametrize("frame", ["world", "body"])
@pytest.mark.parametrize("kind", [Force, Moment])
@pytest.mark.parametrize("value", [(2.0, 1.0, -3.0), lambda t: (2.0 * t, 1.0, -3.0)], ids=["constant", "function"])
def test_virtual_work(value: Any, kind: type[Force | Moment], frame: str) -> None:
    """Minus the residual does the work of the load when its point moves, or when its node turns."""

    def make(n: Stage) -> Force | Moment:
        at = {"point": n.line[1].at(POINT)} if kind is Force else {}
        return kind(n.line[1], value, frame=frame, **at)

    model, (load,) = build(make)
    system = mbs.System(model)
    motion = random_motion(system, 1)
    row = system.number(load.nodes[0])
    given = np.asarray(value(motion.t) if callable(value) else value)
    world = motion.R[row] @ given if frame == "body" else given

    def work(d: Array) -> Array:
        near = neighbour(motion, d.ravel())
        if kind is Force:
            return np.array([world @ (near.x[row] + near.R[row] @ POINT)])
        return np.array([world @ (motion.R[row] @ so3.log(motion.R[row].T @ near.R[row]))])

    expected = jacobian(work, system.free)[0]
    np.testing.assert_allclose(-residual(system, motion)[system.free], expected, rtol=0, atol=1e-9)


def test_functions_of_time_are_called_with_the_time_of_the_motion() -> None:
    model = mbs.Model()
    node = model.add_node((0, 0, 0))
    model.add(Force(node, lambda t: (t, 2 * t, 3 * t)))
    system = mbs.System(model)
    for t in (0.0, 0.4):
        motion = random_motion(system, 0, t=t)
        force = motion.R[1] @ residual(system, motion)[1, :3]
        np.testing.assert_allclose(force, [-t, -2 * t, -3 * t], atol=1e-15)


def test_bad_loads_are_refused_by_name() -> None:
    node = mbs.Model().add_node((0, 0, 0), name="tip")
    with pytest.raises(mbs.ModelError, match="Force on node 'tip': value must be three numbers, received .*shape"):
        Force(node, (1.0, 2.0))
    with pytest.raises(mbs.ModelError, match="Moment on node 'tip': value must be finite"):
        Moment(node, (1.0, np.inf, 0.0))
    with pytest.raises(
        mbs.ModelError, match="Force on node 'tip': frame must be one of 'world', 'body', received 'local'"
    ):
        Force(node, (1, 0, 0), frame="local")
    with pytest.raises(mbs.ModelError, match="Force on node 'tip': point must be three numbers"):
        Force(node, (1, 0, 0), point=1.0)


def failing(t: float) -> float:
    return 1.0 / (t - 0.5)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda t: (failing(t), 0, 0), "Force 'gust': its function of time failed at t = 0.5 s: ZeroDivisionError"),
        (lambda t: (np.nan, 0, 0), r"Force 'gust': .*must return 3 finite numbers, received \[nan"),
        (lambda t: 1.0, "Force 'gust': .*must return 3 finite numbers, received 1.0"),
    ],
)
def test_functions_of_time_that_fail_are_named(value: object, message: str) -> None:
    model = mbs.Model()
    model.add(Force(model.add_node((0, 0, 0)), value), name="gust")  # type: ignore[arg-type]
    with pytest.raises(mbs.MotionError, match=message):
        mbs.System(model).prescribe(0.5)
