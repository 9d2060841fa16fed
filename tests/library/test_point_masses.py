"""Point masses need no rotation: that of their node is held where nothing acts on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fem_mbs as mbs
from fem_mbs.elements import (
    Force,
    PointMass,
    PointOnLineJoint,
    Rope,
    SphericalJoint,
)

G, T = 9.81, 0.2


WAYS: dict[str, tuple[Callable[[mbs.Model, mbs.Node], object], Callable[[], tuple[float, float, float]]]] = {
    "a slack rope": (lambda m, b: Rope(m.ground, b, 2.0), lambda: (1, 0, -G * T**2 / 2)),
    "a wire": (lambda m, b: PointOnLineJoint(m.ground, b, (1, 0, -1)), lambda: (1 + G * T**2 / 4, 0, -G * T**2 / 4)),
    "a push": (lambda m, b: Force(b, (1, 0, 0)), lambda: (1 + T**2 / 2, 0, -G * T**2 / 2)),
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("formulation", ["R3xSO3", "SE3"])
def test_beads_move_as_points(name: str, formulation: str) -> None:
    model = mbs.Model(formulation, gravity=(0, 0, -G))
    bead = model.add_node((1, 0, 0))
    model.add(PointMass(bead, 1.0))
    acts, where = WAYS[name]
    model.add(acts(model, bead))  # type: ignore[call-overload]
    np.testing.assert_allclose(mbs.simulate(model, T, 0.01).position(bead)[-1], where(), atol=1e-9)


def test_a_lever_still_turns_it() -> None:
    """A rod at a point beside it would turn it, and it has no inertia."""
    model = mbs.Model()
    bob = model.add_node((1, 0, 0), name="bob")
    model.add(PointMass(bob, 1.0))
    model.add(SphericalJoint(model.ground, bob, point=(0, 0, 0)))
    with pytest.raises(mbs.SingularSystemError, match="rotation about .* can move without mass"):
        mbs.simulate(model, 0.1, 0.01)
