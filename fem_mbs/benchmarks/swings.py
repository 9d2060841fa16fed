"""Bodies that swing under their weight, computed by programs for rigid bodies: MotionGenesis (through Drake), ADAMS."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, compared, rows
from fem_mbs.elements import CylindricalJoint, RevoluteJoint, RigidBody
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution

BOOT_START = np.radians((90.0, 1.0))
BOOT = (-61.3129833, -929.477897, -6.74400810, -2.77956901)
"""Angles in degrees and their rates in rad/s after 10 s (Drake, multibody/benchmarks/chaotic_babyboot/MG)."""


def babyboot(group: str = "R3xSO3") -> Model:
    """Kane's baby boot: a plate on the hinge "B" along a lace, which swings on the hinge "A"."""
    model = Model(group, gravity=(0, 0, -9.81))
    swung = Rotation.from_rotvec((BOOT_START[0], 0, 0))
    turned = swung * Rotation.from_rotvec((0, 0, BOOT_START[1]))
    down = swung.apply((0, 0, -1))
    lace = model.add_node(0.075 * down, swung.as_matrix(), name="lace")
    boot = model.add_node(0.2 * down, turned.as_matrix(), name="boot")
    model.add(RigidBody(lace, 0.01, (5e-6, 5e-6, 1e-9)))
    model.add(RigidBody(boot, 0.1, (2.5e-4, 5e-5, 2e-4)))
    model.add(RevoluteJoint(model.ground, lace, axis=(1, 0, 0), point=(0, 0, 0)), name="A")
    model.add(RevoluteJoint(lace, boot, axis=-down, point=0.2 * down), name="B")
    return model


@case("baby boot", "machines", slow=True)
def babyboot_case() -> list[Quantity]:
    """A plate on a hinge along a swinging lace turns over in a chaotic way: where it is after 10 s.

    What differs at the start has grown seven million fold by then: 1e-11 of an angle is 1e-4.
    """
    solution = simulate(babyboot(), 10.0, 2e-3, RadauIIA(), times=[0.0, 10.0])
    angles = np.degrees(BOOT_START + [solution.coordinate(hinge)[-1].item() for hinge in "AB"])
    rates = [solution.coordinate_rate(hinge)[-1].item() for hinge in "AB"]
    names = (
        "angle of the lace (deg)",
        "angle of the boot (deg)",
        "rate of the lace (rad/s)",
        "rate of the boot (rad/s)",
    )
    source = "computed: MotionGenesis, through Drake"
    return [
        *compared(names[:2], angles, BOOT[:2], 1e-5, source),
        *compared(names[2:], np.array(rates), BOOT[2:], 1e-4, source, 11.0),
    ]


PIVOT = np.array([1.0, 2.0, 3.0])
ADAMS = {  # time (s): place, velocity, acceleration, angular velocity; force and moment on the ground at the pivot
    1.0: ((1.0421, 0.962238, -0.865563), (-5.20028, -4.8259, -4.98075), (-0.427153, -14.4646, 4.65798),
          (0, 1.83898, 1.83898), (0.427153, 14.4646, -14.4646), (70.9248, -1.04724, 1.04724)),
    2.0: ((-1, -7.80602, -6.80728), (-4.85486e-05, -9.8841, -9.7292), (0.00939531, -0.119586, -9.68706),
          (0, 0.0387227, 0.0387227), (-0.00939531, 0.119586, -0.119586), (2.34548, 0.0921365, -0.0921365)),
    3.0: ((0.8738, -18.6536, -20.4764), (5.18646, -14.4781, -14.9418), (1.27809, -14.4136, 4.60691),
          (0, -1.83735, -1.83735), (-1.27809, 14.4136, -14.4136), (636.069, 28.201, -28.201)),
    4.0: ((3, -37.2241, -36.2291), (0.000388399, -19.7682, -19.4584), (-0.0364871, -0.119646, -9.687),
          (0, -0.0774453, -0.0774453), (0.0364871, 0.119646, -0.119646), (9.38661, -1.43127, 1.43127)),
    5.0: ((1.20996, -57.8852, -59.698), (-5.15895, -24.1315, -24.9017), (-2.11887, -14.3128, 4.50612),
          (0, 1.8341, 1.8341), (2.11887, 14.3128, -14.3128), (1754.5, -129.869, 129.869)),
}  # fmt: skip


def sliding_swing(group: str = "R3xSO3") -> Model:
    """A "body" of 1 kg on a "joint" whose axis is 45 degrees off the vertical: it swings, and slides away."""
    model = Model(group, gravity=(0, 0, -9.80665))
    R = Rotation.from_euler("x", -45, degrees=True).as_matrix()
    body = model.add_node(PIVOT + R @ (2, 0, 0), R, name="body")
    model.add(RigidBody(body, 1.0, (0.04, 0.1, 0.1)))
    model.add(CylindricalJoint(model.ground, body, axis=R[:, 2], point=PIVOT), name="joint")
    return model


def _seen(solution: Solution) -> Array:
    """What the table has ``(nt, 6, 3)``; our reaction acts on the body, at the point that slides with it."""
    x, R = solution.position("body"), solution.rotation("body")
    force, moment = solution.reaction("joint")
    arm = x + R @ (R[0].T @ (PIVOT - x[0])) - PIVOT
    omega = np.matvec(R, solution.angular_velocity("body"))
    rates = solution.velocity("body"), solution.acceleration("body"), omega
    return np.stack([x, *rates, -force, -moment - np.cross(arm, force)], axis=1)


@case("swing on a cylindrical joint", "joints", slow=True)
def sliding_swing_case() -> list[Quantity]:
    """A body swings about an axis at 45 degrees and slides along it for 5 s: motion and reactions, five times six."""
    solution = simulate(sliding_swing(), 5.0, 5e-3, RadauIIA())
    table = np.array([*ADAMS.values()])
    apart = np.linalg.norm(_seen(solution)[rows(solution.t, [*ADAMS])] - table, axis=-1).max(axis=0)
    sizes = np.linalg.norm(table, axis=-1).max(axis=0)
    names = (
        "place (m)",
        "velocity (m/s)",
        "acceleration (m/s^2)",
        "angular velocity (rad/s)",
        "force (N)",
        "moment (N m)",
    )
    return [
        Quantity(
            f"largest error of the {name}", float(error), 0.0, 1e-4, "computed: ADAMS, through Chrono", float(size)
        )
        for name, error, size in zip(names, apart, sizes, strict=True)
    ]
