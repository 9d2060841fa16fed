"""Contacts: orders beside the scheme of Moreau and Jean, and what laws of contacts that yield give back.

``python tests/performance/contact_laws.py`` prints errors of places, velocities and forces at 20, 10, 5 and 2.5 ms, and
the orders fitted to them: means over all steps, medians of velocities, which jump. ``--yielding`` prints what comes
back of a steel ball where the share ``e`` is asked for, by the formulas of three papers and by the library, and its hit
without loss beside Hertz's closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log1p

import numpy as np
from measure import arguments, describe, table
from scipy.optimize import brentq

import fem_mbs as mbs
from fem_mbs.arrays import Array
from fem_mbs.benchmarks.impacts import OMEGA, STEPS, ZETA, G, bouncing, bowl, oscillator, pendulum
from fem_mbs.elements import Ball, Contact, Plane, RigidBody, hertz_stiffness

RADIUS, YOUNG, POISSON, DENSITY = 0.02, 210e9, 0.3, 7800.0
MASS = DENSITY * 4.0 / 3.0 * np.pi * RADIUS**3
FORMULAS: tuple[Callable[[float], float], ...] = (
    lambda e: 1.5 * (1.0 - e),
    lambda e: 0.75 * (1.0 - e * e),
    lambda e: 1.6 * (1.0 - e) / e,
)
"""``chi v`` of Hunt and Crossley, of Lankarani and Nikravesh, of Flores (2011)."""


def moreau_jean(
    force: Callable[[float, float, float], float], q: float, v: float, wall: float, e: float, h: float, t_end: float
) -> Array:
    """One coordinate of unit mass below or above a wall, by the explicit midpoint for the force: ``(nt, 2)``."""
    side, found = np.sign(q - wall), [(q, v)]
    for k in range(round(t_end / h)):
        middle = q + 0.5 * h * v
        free = v + h * force((k + 0.5) * h, middle, v + 0.5 * h * force(k * h, q, v))
        if side * (middle - wall) <= 0.0:
            free += side * max(0.0, -side * (free + e * v))
        q, v = q + 0.5 * h * (v + free), free
        found.append((q, v))
    return np.array(found)


def swing(_: float, q: float, v: float) -> float:
    return -G * np.sin(q)


def driven(t: float, q: float, v: float) -> float:
    return 10.0 * np.cos(4.0 * t) - 2.0 * ZETA * OMEGA * v - OMEGA**2 * q


def rates(force: Callable[[float, float, float], float]) -> Callable[[float, Array], tuple[float, float]]:
    return lambda t, y: (y[1], force(t, *y))


def orders() -> None:
    """Of the library, and of Moreau and Jean for problems of one coordinate."""
    rows, found = [], dict[str, list[Array]]()
    for h in STEPS:
        for name, model, force, start, wall, e, t_end in (
            ("rod and wall", pendulum, swing, (np.pi / 3, 0.0), np.arcsin(-0.3), 0.8, 3.0),
            ("stop", oscillator, driven, (0.0, 0.0), 0.05, 0.8, 5.0),
            ("bowl", bowl, swing, (np.pi / 3, 0.0), 2.0, 0.0, 3.0),
        ):
            run = mbs.simulate(model(), t_end, h)
            exact = bouncing(rates(force), start, wall, e, run.t)
            columns: dict[str, tuple[Array, Array]] = {}
            if name == "stop":
                columns["place"] = run.coordinate("rail"), exact[:, 0]
                columns["velocity"] = run.coordinate_rate("rail"), exact[:, 1]
            else:
                body = "bob" if name == "rod and wall" else "bead"
                angle = exact[:, 0]
                columns["place"] = run.position(body)[:, 0], np.sin(angle)
                columns["velocity"] = run.velocity(body)[:, 0], exact[:, 1] * np.cos(angle)
            if name == "bowl":
                pressure = np.linalg.norm(run.contact_force("contact")[:, 0], axis=-1)
                columns["force"] = pressure, G * np.cos(exact[:, 0]) + exact[:, 1] ** 2
            else:
                other = moreau_jean(force, *start, wall, e, h, t_end)[: len(run.t)]
                columns["Moreau, Jean: place"] = other[:, 0], exact[:, 0]
                columns["Moreau, Jean: velocity"] = other[:, 1], exact[:, 1]
            for quantity, (own, known) in columns.items():
                # where an impact falls on the other side of a stored instant, a velocity is off by the jump
                usual = np.median if "velocity" in quantity else np.mean
                found.setdefault(f"{name}: {quantity}", []).append(usual(np.abs(own - known)))
    for name, errors in found.items():
        order = np.polyfit(np.log(STEPS), np.log(errors), 1)[0]
        rows.append((name, *(f"{error:.1e}" for error in errors), f"{order:.2f}"))
    print(table(("error at", *(f"{1e3 * h:g} ms" for h in STEPS), "order"), rows))


def steel_ball(e: float) -> mbs.Model:
    """It meets steel at 1 m/s after 10 us."""
    model = mbs.Model()
    ball = model.add_node((0, 0, RADIUS + 1e-5), velocity=(0, 0, -1), name="ball")
    model.add(RigidBody(ball, MASS, [0.4 * MASS * RADIUS**2] * 3))
    stiffness = hertz_stiffness(RADIUS, YOUNG, POISSON)
    model.add(Contact(model.ground, ball, Plane(), Ball(RADIUS), stiffness=stiffness, restitution=e), name="hit")
    return model


def given_back(y: float) -> float:
    """The share ``e`` of the speed that comes back with ``chi v = y``: ``y - ln(1+y) = -e y - ln(1 - e y)``."""
    most = min(1.0, (1.0 - 1e-15) / y)
    return float(brentq(lambda e: y - log1p(y) + e * y + log1p(-e * y), 1e-9, most, xtol=1e-14))


def yielding() -> None:
    """The table of restitutions, and a hit without loss."""
    rows = []
    for e in np.arange(0.9, 0.05, -0.1):
        ours = [
            mbs.simulate(steel_ball(float(e)), 4e-4, 2e-6, method).velocity("ball")[-1, 2]
            for method in (mbs.RadauIIA(), mbs.GeneralizedAlpha())
        ]
        rows.append((f"{e:.1f}", *(f"{given_back(y(e)):.4f}" for y in FORMULAS), *(f"{own:.6f}" for own in ours)))
    print(table(("e", "Hunt", "Lankarani", "Flores", "RadauIIA", "GeneralizedAlpha"), rows))
    run = mbs.simulate(steel_ball(1.0), 2e-4, 1e-6, mbs.RadauIIA())
    force = run.contact_force("hit")[:, 0, 2]
    k = hertz_stiffness(RADIUS, YOUNG, POISSON)
    depth = (5.0 * MASS / (4.0 * k)) ** 0.4
    rows = [
        ("depth, um", f"{-1e6 * run.gap('hit').min():.4f}", f"{1e6 * depth:.4f}"),
        ("force, N", f"{force.max():.2f}", f"{k * depth**1.5:.2f}"),
        ("time, ms", f"{1e3 * np.trapezoid((force > 0.0) * 1.0, run.t):.4f}", f"{2.943275e3 * depth:.4f}"),
        ("speed after, m/s", f"{run.velocity('ball')[-1, 2]:.8f}", "1"),
    ]
    print(table(("a steel ball of 20 mm, 1 m/s", "computed", "Hertz"), rows))


if __name__ == "__main__":
    parser = arguments(__doc__ or "", 1)
    parser.add_argument("--yielding", action="store_true")
    options = parser.parse_args()
    print(describe())
    (yielding if options.yielding else orders)()
