"""The Jeffcott rotor: an unbalanced disk in elastic bearings, driven through its critical speed by a given moment."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import BenchmarkProblem, Quantity, case, check
from fem_mbs.elements import Bushing, GeneralJoint, Moment, RevoluteJoint, RigidBody
from fem_mbs.model.model import Model
from fem_mbs.solution.solution import Solution

MASS, INERTIA, OFFSET = 5.0, 0.05, 1e-3
STIFFNESS, DAMPING, DRIVE = 2e4, 20.0, 6.0
TIMES = (0.5, 0.75, 1.0)


def jeffcott(group: str = "R3xSO3") -> Model:
    """The node "disk", whose mass centre is beside it, on a housing in elastic bearings."""
    model = Model(group)
    disk = model.add_node((0, 0, 0), name="disk")
    model.add(RigidBody(disk, MASS, (INERTIA, INERTIA, INERTIA), center_of_mass=(OFFSET, 0, 0)))
    # what does not turn of the bearings
    housing = model.add_node((0, 0, 0))
    model.add(GeneralJoint(model.ground, housing, translation=(False, False, True)))
    model.add(RevoluteJoint(housing, disk, (0, 0, 1)))
    bearing = (STIFFNESS, STIFFNESS, 0, 0, 0, 0), (DAMPING, DAMPING, 0, 0, 0, 0)
    model.add(Bushing(model.ground, housing, *bearing))
    model.add(Moment(disk, (0, 0, DRIVE)))
    return model


def read(solution: Solution) -> Array:
    """Place of the disk over the offset, and its speed ``(nt, 3)``."""
    return np.concatenate([solution.position("disk")[:, :2] / OFFSET, solution.angular_velocity("disk")[:, 2:]], -1)


def exact() -> Array:
    """Deflection of the middle in two directions over the offset, and speed, from three coordinates."""

    def rates(_: float, y: Array) -> Array:
        place, angle, velocity, speed = y[:2], y[2], y[3:5], y[5]
        arm = OFFSET * np.array([np.cos(angle), np.sin(angle)])
        across = np.array([-arm[1], arm[0]])
        # of the mass centre, and of the moments about it
        A = np.eye(3)
        A[:2, 2], A[2, :2], A[2, 2] = across, MASS * across, INERTIA + MASS * OFFSET**2
        push = (-STIFFNESS * place - DAMPING * velocity) / MASS + arm * speed**2
        return np.concatenate([velocity, [speed], np.linalg.solve(A, [*push, DRIVE])])

    run = solve_ivp(rates, (0, TIMES[-1]), np.zeros(6), "DOP853", t_eval=TIMES, rtol=1e-11, atol=1e-13)
    return np.concatenate([run.y[:2] / OFFSET, run.y[5:]]).T


JEFFCOTT = BenchmarkProblem(
    "Jeffcott rotor",
    TIMES[-1],
    jeffcott,
    read,
    ("x over the offset", "y over the offset", "speed (rad/s)"),
    TIMES,
    exact,
    (10.0, 10.0, 120.0),
)


@case("Jeffcott rotor", "machines", slow=True)
def jeffcott_rotor() -> list[Quantity]:
    """A disk that is out of balance by 1 mm runs up through its critical speed of 63 rad/s in elastic bearings."""
    return check(JEFFCOTT, (500, 1000, 2000), 1e-4, "exact: three coordinates")
