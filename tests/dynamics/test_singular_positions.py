"""Mechanisms that swing through positions where equations of their joints repeat each other at that position alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fem_mbs as mbs
from fem_mbs.elements import RevoluteJoint, RigidBody

WINDOWS = 6
Z = (0, 0, 1)


def windows(group: str, angle: float, rate: float) -> tuple[mbs.Model, mbs.Node]:
    """Equal rods in six four-bar mechanisms side by side, upright ones turned by an angle from the ground."""
    model = mbs.Model(group, gravity=(0, -9.81, 0))
    along = np.array([np.cos(angle), np.sin(angle), 0])
    across = np.array([-along[1], along[0], 0])
    inertia = (1e-3, 1 / 12, 1 / 12)
    posts = []
    for k in range(WINDOWS + 1):
        foot = np.array([k, 0, 0])
        rotation = np.stack([along, across, (0, 0, 1)], axis=-1)
        post = model.add_node(foot + along / 2, rotation, velocity=across * rate / 2, angular_velocity=(0, 0, rate))
        model.add(RigidBody(post, 1.0, inertia))
        model.add(RevoluteJoint(model.ground, post, Z, point=foot))
        posts.append(post)
    for k in range(WINDOWS):
        corner = along + (k, 0, 0)
        bar = model.add_node(corner + (0.5, 0, 0), velocity=across * rate)
        model.add(RigidBody(bar, 1.0, inertia))
        model.add(RevoluteJoint(posts[k], bar, Z, point=corner))
        model.add(RevoluteJoint(bar, posts[k + 1], Z, point=corner + (1, 0, 0)))
    return model, posts[0]


@pytest.mark.one
@pytest.mark.parametrize("group", ["R3xSO3", pytest.param("SE3", marks=pytest.mark.slow)])
@pytest.mark.parametrize("late", [0.3, 0.0, 3e-5, 1e-3])
def test_all_bars_in_line(group: str, late: float) -> None:
    """All bars pass the horizontal, where six more motions are free, at the end of a step or a share of it later."""
    angle, rate = 0.2, -4.0
    stiffness = ((WINDOWS + 1) / 2 + WINDOWS) * 9.81 / ((WINDOWS + 1) / 3 + WINDOWS)

    def flat(_: float, y: np.ndarray) -> float:
        return float(y[0])

    exact = solve_ivp(
        lambda _, y: (y[1], -stiffness * np.cos(y[0])),
        (0, 0.2),
        (angle, rate),
        events=flat,
        rtol=1e-11,
        atol=1e-12,
        dense_output=True,
    )
    h = float(exact.t_events[0][0]) / (20 + late)
    model, post = windows(group, angle, rate)
    solution = mbs.simulate(model, 25 * h, h)
    across = solution.rotation(post)[:, 1, 0]
    np.testing.assert_allclose(across, np.sin(exact.sol(solution.t)[0]), atol=3e-4)
    assert solution.constraint_residual.velocity.max() < 1e-9
