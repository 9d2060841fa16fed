"""Blades on hinges that turn with a hub on supports that do not: ground resonance, against Coleman and Feingold.

Coleman, Feingold, *Theory of self-excited mechanical oscillations of helicopter rotors with hinged blades*, NACA report
1351 (1958): blades of three and more in coordinates of the whole rotor have constant equations, two blades periodic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import fem_mbs as mbs
from fem_mbs.elements import (
    Bearing,
    GeneralJoint,
    JointDrive,
    JointFriction,
    JointSpring,
    Maxwell,
    RevoluteJoint,
    RigidBody,
    SpeedMotor,
)
from fem_mbs.modal.floquet import floquet_modes

UP = (0.0, 0.0, 1.0)
HUB, BLADE, INERTIA, OFFSET, ARM = 500.0, 20.0, 8.0, 0.3, 1.2
LAG, DAMPER = 500.0, 50.0
K, C = np.array([4e4, 6e4]), np.array([300.0, 400.0])
STATIC, OWN = BLADE * ARM, BLADE * ARM**2 + INERTIA


def helicopter(blades: int, drive: Callable[[float], float] | None = None) -> tuple[mbs.Model, list]:
    """A hub that moves across its axis, and blades on lag hinges with dampers; a free shaft, or one that is driven."""
    model = mbs.Model("SE3")
    housing, hub = (model.add_node((0, 0, 0), name=name) for name in ("housing", "hub"))
    model.add(RigidBody(housing, HUB - 1.0, (1, 1, 1)))
    model.add(RigidBody(hub, 1.0, (25.0, 25.0, 50.0)))
    model.fix(housing, translation=False, rotation=True)
    model.add(GeneralJoint(model.ground, housing, (False, False, True), False))
    model.add(Bearing(model.ground, housing, UP, (*K, 0, 0, 0), (*C, 0, 0, 0), across=(1, 0, 0)))
    model.add(RevoluteJoint(housing, hub, UP, **({} if drive is None else {"drive": drive})))
    turning = [hub]
    for angle in 2.0 * np.pi * np.arange(blades) / blades:
        along = np.array([np.cos(angle), np.sin(angle), 0.0])
        turning.append(blade := model.add_node((OFFSET + ARM) * along))
        model.add(RigidBody(blade, BLADE, (INERTIA, INERTIA, INERTIA)))
        hinge = model.add(RevoluteJoint(hub, blade, UP, point=OFFSET * along))
        model.add(JointSpring(hinge, LAG, DAMPER))
    return model, turning


def coleman(blades: int, speed: float) -> np.ndarray:
    """Eigenvalues of ``x, y, a, b`` with lags ``a cos + b sin`` of the angle of each blade."""
    share = 0.5 * blades * STATIC
    M = np.diag([*2 * [HUB + blades * BLADE], OWN, OWN])
    M[0, 3], M[1, 2], M[2, 1], M[3, 0] = -share, share, STATIC, -STATIC
    stiff = LAG + speed**2 * (STATIC * OFFSET - OWN)
    whirl = np.array([[0.0, 1.0], [-1.0, 0.0]])
    D, S = np.zeros((2, 4, 4))
    D[:2, :2], S[:2, :2] = np.diag(C), np.diag(K)
    D[2:, 2:] = DAMPER * np.eye(2) + 2.0 * speed * OWN * whirl
    S[2:, 2:] = stiff * np.eye(2) + DAMPER * speed * whirl
    inverse = np.linalg.inv(M)
    return np.linalg.eigvals(np.block([[np.zeros((4, 4)), np.eye(4)], [-inverse @ S, -inverse @ D]]))


def explicit(blades: int, speed: float) -> np.ndarray:
    """Exponents of ``x, y`` and the lag of each blade, whose equations are written with the angles as they go."""
    angles, q = 2.0 * np.pi * np.arange(blades) / blades, 2 + blades

    def rates(t: float, z: np.ndarray) -> np.ndarray:
        c, s = np.cos(speed * t + angles), np.sin(speed * t + angles)
        M = np.diag([*2 * [HUB + blades * BLADE], *blades * [OWN]])
        M[0, 2:], M[1, 2:] = -STATIC * s, STATIC * c
        M[2:, :2] = M[:2, 2:].T
        D = np.diag([*C, *blades * [DAMPER]])
        D[0, 2:], D[1, 2:] = -2.0 * speed * STATIC * c, -2.0 * speed * STATIC * s
        S = np.diag([*K, *blades * [LAG + speed**2 * STATIC * OFFSET]])
        S[0, 2:], S[1, 2:] = speed**2 * STATIC * s, -(speed**2) * STATIC * c
        z = z.reshape(2 * q, -1)
        return np.concatenate([z[q:], -np.linalg.solve(M, S @ z[:q] + D @ z[q:])]).ravel()

    turn = 2.0 * np.pi / speed
    end = solve_ivp(rates, (0.0, turn), np.eye(2 * q).ravel(), method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    return np.log(np.linalg.eigvals(end.reshape(2 * q, 2 * q)).astype(complex)) / turn


def found(model: mbs.Model, speed: float, turning: list, count: int) -> np.ndarray:
    """Eigenvalues of a Campbell diagram of one speed."""
    diagram = mbs.campbell(model, [speed], turning=turning, axis=UP, count=count, floquet=True)
    angular, ratio = diagram.angular[0], diagram.damping[0]
    return -ratio * angular / np.sqrt(1.0 - ratio**2) + 1j * angular


def apart(known: np.ndarray, seen: np.ndarray, speed: float) -> np.ndarray:
    """How far each of the known exponents is from the next one seen, but for whole turns and the sign of ``i``."""
    turns = (np.add.outer(known.imag, np.concatenate([-seen.imag, seen.imag])) / speed + 0.5) % 1.0 - 0.5
    return np.hypot(np.tile(np.subtract.outer(known.real, seen.real), 2), turns * speed).min(axis=1)


@pytest.mark.ci
@pytest.mark.parametrize("driven", [False, True])
def test_four_blades_grow_as_their_constant_equations_say(driven: bool) -> None:
    """Growth and frequencies inside and outside the range of ground resonance, of a free shaft and of a driven one."""
    for speed in (12.0, 20.0):
        model, turning = helicopter(4, (lambda t, speed=speed: speed * t) if driven else None)
        seen = found(model, speed, turning, 6)
        known = coleman(4, speed)
        assert apart(known, seen, speed).max() < 1e-6
        assert seen.real.max() == pytest.approx(known.real.max(), abs=1e-6)


@pytest.mark.ci
def test_ground_resonance_begins_and_ends_where_coleman_and_feingold_say() -> None:
    """Three blades: the edges of the range in which motions grow."""
    model, turning = helicopter(3)
    edges = [brentq(lambda w: coleman(3, w).real.max(), *ends) for ends in ((12.0, 18.0), (20.0, 40.0))]
    for edge, inwards in zip(edges, (1.0, -1.0), strict=True):
        for share, grows in ((1e-4, True), (-1e-4, False)):
            speed = edge * (1.0 + inwards * share)
            diagram = mbs.campbell(model, [speed], turning=turning, axis=UP, count=5, floquet=True)
            assert (len(diagram.unstable) > 0) is grows


@pytest.mark.ci
@pytest.mark.parametrize("blades", [2, 3])
def test_blades_against_their_equations_over_a_turn(blades: int) -> None:
    """Two blades have no coordinates in which equations are constant: multipliers of a turn, by SciPy."""
    for speed in (9.0, 20.0, 26.0):
        model, turning = helicopter(blades, lambda t, speed=speed: speed * t)
        known = explicit(blades, speed)
        seen = found(model, speed, turning, 2 + blades)
        assert apart(seen, known, speed).max() < 1e-6
        assert seen.real.max() == pytest.approx(known.real.max(), abs=1e-6)


def rotor(blades: int, part: str, gravity: float) -> tuple[mbs.Model, list]:
    """Blades that lag and flap, on supports alike all round, with tilts."""
    model, speed = mbs.Model("SE3", gravity=(0, 0, -gravity)), 10.0
    housing, hub = (model.add_node((0, 0, 0), name=name) for name in ("housing", "hub"))
    model.add(RigidBody(housing, 300.0, (200, 200, 200)))
    model.add(RigidBody(hub, 50.0, (25, 25, 50)))
    model.add(Bearing(model.ground, housing, UP, (4e4, 4e4, 1e6, 3e4, 3e4), (100, 100, 100, 50, 50)))
    model.add(Bearing(model.ground, housing, (1, 0, 0), (0, 0, 0, 0, 4e4), (0, 0, 0, 0, 60), across=(0, 1, 0)))
    drive = {"drive": lambda t: speed * t} if part == "rubbing shaft" else {}
    shaft, turning = model.add(RevoluteJoint(housing, hub, UP, **drive)), [hub]
    for angle in 2.0 * np.pi * np.arange(blades) / blades:
        along, across = (np.array([np.cos(a), np.sin(a), 0.0]) for a in (angle, angle + 0.5 * np.pi))
        arm, blade = model.add_node(0.3 * along), model.add_node(1.5 * along)
        model.add(RigidBody(arm, 2.0, (0.1, 0.1, 0.1)))
        model.add(RigidBody(blade, 20.0, (8, 8, 8)))
        lag = model.add(RevoluteJoint(hub, arm, UP, point=0.2 * along))
        flap = model.add(RevoluteJoint(arm, blade, across, point=0.3 * along))
        model.add(JointSpring(lag, 900.0, 30.0))
        model.add(JointSpring(flap, 700.0, 10.0))
        turning += [arm, blade]
        if part == "rubbing hinges":
            model.add(JointFriction(lag, 0.2, radius=0.05))
            model.add(JointFriction(flap, 0.2, radius=0.05))
        elif part == "driven hinges":
            model.add(JointDrive(lag, lambda t: 0.0))
        elif part == "states":
            model.add(Maxwell(hub, blade, 2e4, 300.0, point_a=0.2 * (along + across), point_b=0.2 * across))
    if part == "motor":
        model.add(SpeedMotor(shaft, speed, 200.0))
    elif part == "rubbing shaft":
        model.add(JointFriction(shaft, 3.0, radius=1e-9, thrust_radius=0.6))
    return model, turning


@pytest.mark.parametrize("blades", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("part", ["motor", "rubbing hinges", "rubbing shaft", "driven hinges", "states"])
def test_supports_alike_all_round_have_the_exponents_of_axes_that_turn(part: str, blades: int) -> None:
    """All motions over a turn, seen from the ground, against the constant equations in the axes of the rotor."""
    model, turning = rotor(blades, part, 9.81)
    state = mbs.steady_rotation(model, (0, 0, 10.0), turning=turning).state(-1)
    constant = mbs.modes(model, 9, state, damped=True).eigenvalues
    assert apart(constant, floquet_exponents(model, state), 10.0).max() < 3e-5


def floquet_exponents(model: mbs.Model, state: mbs.State) -> np.ndarray:

    return floquet_modes(mbs.linearize(model, state), 9, "test").eigenvalues
