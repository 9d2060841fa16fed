"""The library of the IFToMM committee for multibody dynamics (Gonzalez, Dopico, Lugris, Cuadrado 2006): A01, A02, A04.

The series of the library are not public; the references are solutions of the same data in minimal coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.integrate import solve_ivp

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array
from fem_mbs.contracts import Node
from fem_mbs.elements import PointMass, RevoluteJoint, RigidBody
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution
from fem_mbs.validation.case import Quantity, case, compared, order_in_the_step, refine

GRAVITY = 9.81
EXACT = "exact solution, one coordinate"


@dataclass(frozen=True)
class IftommProblem:
    """A problem of the library: its model, and what is compared at some times.

    ``build`` makes the model on a group and a function that reads the quantities ``(nt, k)`` off a solution;
    ``scale`` is the size of these.
    """

    name: str
    t_end: float
    build: Callable[[str], tuple[Model, Callable[[Solution], Array]]]
    quantities: Sequence[str]
    times: Sequence[float]
    exact: Callable[[], Array]
    scale: Sequence[float]

    def solve(
        self, steps: int, group: str = "R3xSO3", method: GeneralizedAlpha | None = None
    ) -> tuple[Solution, Array]:
        """A run in equal steps, and the quantities at the times ``(nt, k)``."""
        model, read = self.build(group)
        solution = simulate(model, self.t_end, self.t_end / steps, method)
        rows = [int(np.abs(solution.t - t).argmin()) for t in self.times]
        if np.abs(solution.t[rows] - self.times).max() > 1e-9:
            raise ValueError(f"{self.name}: {steps} steps do not all end at {self.times}")
        return solution, read(solution)[rows]

    def check(self, steps: Sequence[int], tolerance: float, source: str = EXACT) -> list[Quantity]:
        """Extrapolated values beside the references."""
        values, order = refine(lambda count: self.solve(count)[1], steps)
        result, exact = [], self.exact()
        for column, (name, scale) in enumerate(zip(self.quantities, self.scale, strict=True)):
            names = [f"{name} at t = {t:g} s" for t in self.times]
            result += compared(names, values[:, column], exact[:, column], tolerance, source, scale)
        return [*result, order_in_the_step(order)]


def _build_pendulum(group: str) -> tuple[Model, Callable[[Solution], Array]]:
    model = Model(group, gravity=(0, -GRAVITY, 0))
    bob = model.add_node((-1, 0, 0), name="bob")
    model.add(PointMass(bob, 1.0))
    model.add(RevoluteJoint(model.ground, bob, axis=(0, 0, 1), point=(0, 0, 0)))
    return model, lambda solution: solution.position(bob)[:, :2]


def _turning(angle: float, rate: float, stiffness: float, times: Sequence[float]) -> Array:
    """End ``(nt, 2)`` of a bar of length 1 at an angle from x, which obeys ``angle'' = -stiffness cos(angle)``."""
    solution = solve_ivp(
        lambda _, y: (y[1], -stiffness * np.cos(y[0])),
        (0, max(times)),
        (angle, rate),
        method="DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    )
    return np.stack([np.cos(solution.y[0]), np.sin(solution.y[0])], axis=-1)


def _build_windows(windows: int, group: str) -> tuple[Model, Callable[[Solution], Array]]:
    model = Model(group, gravity=(0, -GRAVITY, 0))
    upright = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    inertia, z = (1e-3, 1 / 12, 1 / 12), (0, 0, 1)
    posts = []
    for k in range(windows + 1):
        post = model.add_node((k, 0.5, 0), upright, velocity=(0.5, 0, 0), angular_velocity=(0, 0, -1))
        model.add(RigidBody(post, 1.0, inertia))
        model.add(RevoluteJoint(model.ground, post, z, point=(k, 0, 0)))
        posts.append(post)
    for k in range(windows):
        bar = model.add_node((k + 0.5, 1, 0), velocity=(1, 0, 0))
        model.add(RigidBody(bar, 1.0, inertia))
        model.add(RevoluteJoint(posts[k], bar, z, point=(k, 1, 0)))
        model.add(RevoluteJoint(bar, posts[k + 1], z, point=(k + 1, 1, 0)))
    return model, lambda solution: _point(posts[0], (0.5, 0, 0), solution)[:, :2]


def _point(node: Node, place: Sequence[float], solution: Solution) -> Array:
    """A point ``(nt, 3)`` of a body."""
    where: Array = solution.position(node) + solution.rotation(node) @ np.array(place)
    return where


def _four_bars(windows: int, times: Sequence[float]) -> IftommProblem:
    posts = windows + 1
    stiffness = (posts / 2 + windows) * GRAVITY / (posts / 3 + windows)
    return IftommProblem(
        f"A02 {windows}-four-bar",
        10.0,
        partial(_build_windows, windows),
        ("x of B0", "y of B0"),
        times,
        lambda: _turning(np.pi / 2, -1.0, stiffness, times),
        (1.0, 1.0),
    )


CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
BRICARD = {  # t: place of the second corner, in minimal coordinates
    0.5: (0.774718, -0.979815, -0.199906),
    1.0: (0.274481, -0.886708, -0.462330),
    2.0: (-0.778135, -0.980353, -0.197253),
    3.0: (-0.771281, -0.979269, -0.202563),
    4.0: (0.283551, -0.888023, -0.459799),
    5.0: (0.999933, -1.000000, -6.7e-5),
}


def _build_bricard(group: str) -> tuple[Model, Callable[[Solution], Array]]:
    model = Model(group, gravity=(0, -GRAVITY, 0))
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    last, rods = model.ground, []
    for begin, end, axis in zip(CORNERS[:-1], CORNERS[1:], axes[:-1], strict=True):
        rod = model.add_node((begin + end) / 2)
        side = 0.1
        inertia = np.where(end == begin, (1 + side**2) / 12, side**2 / 6)
        model.add(RigidBody(rod, 1.0, inertia))
        model.add(RevoluteJoint(last, rod, axis, point=begin))
        rods.append(rod)
        last = rod
    model.add(RevoluteJoint(last, model.ground, axes[-1], point=CORNERS[-1]))
    return model, partial(_point, rods[1], (0, -0.5, 0))


PENDULUM = IftommProblem(
    "A01 pendulum",
    10.0,
    _build_pendulum,
    ("x", "y"),
    (1, 5, 10),
    lambda: _turning(np.pi, 0.0, GRAVITY, (1, 5, 10)),
    (1.0, 1.0),
)
TWO_WINDOWS = _four_bars(2, (1, 5, 10))
FORTY_WINDOWS = _four_bars(40, (1, 5, 10))
LINKAGE = IftommProblem(
    "A04 Bricard",
    5.0,
    _build_bricard,
    ("x of P2", "y of P2", "z of P2"),
    tuple(BRICARD),
    lambda: np.array(list(BRICARD.values())),
    (1.0, 1.0, 1.0),
)


@case("IFToMM A01, simple pendulum", "machines")
def simple_pendulum() -> list[Quantity]:
    """A point mass of 1 kg on a massless rod of 1 m, let go from the side."""
    return PENDULUM.check((1000, 2000, 4000), 1e-5)


@case("IFToMM A02, N-four-bar", "machines", slow=True)
def two_windows() -> list[Quantity]:
    """Two parallelograms side by side turn over and pass ten positions with all bars in line."""
    return [*TWO_WINDOWS.check((2000, 4000, 8000), 1e-4), _drift(TWO_WINDOWS, 4000, 68.7)]


@case("IFToMM A02 with 40 windows", "machines", slow=True)
def forty_windows() -> list[Quantity]:
    """Forty parallelograms side by side: 81 bars, 121 hinges, at positions in line 41 ways to go on."""
    return [*FORTY_WINDOWS.check((1000, 2000, 4000), 1e-3), _drift(FORTY_WINDOWS, 2000, 1187.0)]


def _drift(problem: IftommProblem, steps: int, exchanged: float) -> Quantity:
    """The criterion of the library: the largest change of energy, beside what weight exchanges with motion."""
    total = problem.solve(steps)[0].energy.total
    drift = float(np.abs(total - total[0]).max())
    return Quantity("largest change of energy (J)", drift, 0.0, 5e-4, "conservation", exchanged)


@case("IFToMM A04, Bricard's linkage", "machines")
def bricard() -> list[Quantity]:
    """Five rods and six hinges in a ring that should not move by the count of its equations, and does."""
    return LINKAGE.check((250, 500, 1000), 1e-5)
