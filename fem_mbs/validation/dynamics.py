"""Benchmarks of flexible multibody dynamics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.interpolate import CubicSpline

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array
from fem_mbs.contracts import Element, Node
from fem_mbs.elements import Beam, BeamSection, Force, Moment, RevoluteJoint, RigidBody, SphericalJoint, SpinUp
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution
from fem_mbs.system.constraints import body_velocity
from fem_mbs.system.matrices import mass_product
from fem_mbs.validation.case import Quantity, case, compared, refine

EXACT = "exact solution, eighth-order Runge-Kutta"
SONNEVILLE = "mb_sef_py, V. Sonneville"


def _order(order: float) -> Quantity:
    return Quantity("order in mesh and step", order, 2.0, 0.1, "theory")


def _extrema(t: Array, u: Array, begin: float, end: float) -> tuple[float, float]:
    """Smallest and largest value between two times, by a cubic spline."""
    values = CubicSpline(t, u)(np.linspace(begin, end, 20001))
    return float(values.min()), float(values.max())


@case("heavy top", "dynamics")
def heavy_top() -> list[Quantity]:
    """A top of 15 kg on a ball joint spins at 150 rad/s (Bruels, Cardona, Arnold 2012): its mass centre after 1 s."""

    def run(steps: int) -> Array:
        model = Model(gravity=(0, 0, -9.81))
        top = model.add_node((0, 1, 0), velocity=(4.61538, 0, 0), angular_velocity=(0, 150, -4.61538), name="top")
        model.add(RigidBody(top, mass=15.0, inertia=(0.234375, 0.46875, 0.234375)))
        model.add(SphericalJoint(model.ground, top, point=(0, 0, 0)), name="pivot")
        place: Array = simulate(model, 1.0, 1.0 / steps, GeneralizedAlpha(start="perturbed")).position(top)[-1]
        return place

    values, order = refine(run, (1000, 2000, 4000))
    references = (0.17334396, 0.64008859, -0.74849079)
    return [*compared(("x (m)", "y (m)", "z (m)"), values, references, 1e-5, EXACT), _order(order)]


@case("right-angle cantilever", "dynamics")
def right_angle_cantilever() -> list[Quantity]:
    """Simo and Vu-Quoc 1988: an L-shaped beam pushed out of its plane at the elbow swings freely for 30 s."""

    def run(elements: int) -> Array:
        model = Model()
        section = BeamSection(EA=1e6, GA=1e6, GJ=1e3, EI=1e3, mass=1.0, inertia=(20, 10, 10))
        leg = Beam.line(model, (0, 0, 0), (10, 0, 0), section, elements)
        arm = Beam.line(model, (10, 0, 0), (10, 10, 0), section, elements, start_node=leg.nodes[-1])
        model.fix(leg.nodes[0])
        model.add(Force(leg.nodes[-1], lambda t: (0, 0, max(0.0, min(50 * t, 50 * (2 - t))))))
        solution = simulate(model, 17.0, 0.5 / elements, GeneralizedAlpha.hht(alpha=0.05))
        elbow, tip = (solution.displacement(node)[:, 2] for node in (leg.nodes[-1], arm.nodes[-1]))
        t = solution.t
        return np.array([_extrema(t, elbow, 2, 5)[1], _extrema(t, tip, 6, 9)[1], _extrema(t, tip, 14, 17)[0]])

    values, order = refine(run, (5, 10, 20))
    names = ("first peak of the elbow (m)", "first peak of the tip (m)", "minimum of the tip (m)")
    series = compared(names, values, (5.511, 8.248, -9.760), 5e-3, SONNEVILLE)
    drawn = compared(names, values, (5.50, 8.295, -9.67), 2e-2, "Simo and Vu-Quoc 1988, digitised")
    return [*series, *drawn, _order(order)]


def _four_bar(sections: tuple[BeamSection, ...], axis: Array, drive: SpinUp, elements: int) -> tuple[Model, Node]:
    """Bars AB, BC, CD with hinges at A to D, of which C has its own axis; the model and node C."""
    model = Model()
    corners = ((0, 0, 0), (0, 0.12, 0), (0.24, 0.12, 0), (0.24, 0, 0))
    ends = zip(sections, corners[:-1], corners[1:], strict=True)
    ab, bc, cd = (Beam.line(model, p, q, section, elements).nodes for section, p, q in ends)
    model.add(RevoluteJoint(model.ground, ab[0], (0, 0, 1), drive=drive))
    model.add(RevoluteJoint(ab[-1], bc[0], (0, 0, 1)))
    model.add(RevoluteJoint(bc[-1], cd[0], axis))
    model.add(RevoluteJoint(model.ground, cd[-1], (0, 0, 1)))
    return model, cd[0]


@case("four-bar 2012", "dynamics")
def four_bar_2012() -> list[Quantity]:
    """Four flexible bars with a hinge 5 degrees off (Bruels, Cardona, Arnold 2012): displacement out of the plane."""
    sections = (
        BeamSection(EA=4e7, GA=2e6, GJ=2.8e5, EI=2.4e6, mass=3.2, inertia=(2.4e-2, 1.2e-2, 1.2e-2)),
        BeamSection(EA=4e6, GA=2e5, GJ=2.8e4, EI=2.8e5, mass=1.6, inertia=(1.2e-2, 6e-3, 6e-3)),
        BeamSection(EA=4e5, GA=2e5, GJ=2.8e4, EI=2.4e4, mass=1.6, inertia=(1.2e-2, 6e-3, 6e-3)),
    )
    tilt = np.radians(5.0)
    model, c = _four_bar(sections, np.array([np.sin(tilt), 0, np.cos(tilt)]), SpinUp(-5.0, 0.5), 10)
    solution = simulate(model, 2.0, 0.01)
    lowest, highest = _extrema(solution.t, 1e3 * solution.displacement(c)[:, 2], 0, 2)
    source = "Bruels, Cardona, Arnold 2012, read from Fig. 6"
    return compared(
        ("smallest u_z of C (mm)", "largest u_z of C (mm)"), np.array([lowest, highest]), (-2, 2), 0.1, source
    )


@case("four-bar 2016", "dynamics", slow=True)
def four_bar_2016() -> list[Quantity]:
    """The mechanism with the data of Bauchau and others (2016), two turns of the crank: peaks of C."""
    thick = BeamSection(5.2992e7, 1.68803e7, 733.488, 1130.50, 1.9968, (8.51968e-5, 4.25984e-5, 4.25984e-5))
    thin = BeamSection(1.3248e7, 4.22008e6, 45.843, 70.656, 0.4992, (5.3248e-6, 2.6624e-6, 2.6624e-6))
    tilt, run_in = np.radians(5.0), 0.2
    axis = np.array([0, -np.sin(tilt), np.cos(tilt)])
    model, c = _four_bar((thick, thick, thin), axis, SpinUp(-0.6, run_in), 8)
    solution = simulate(model, 12 + run_in / 2, 0.004, GeneralizedAlpha(0.0))
    t, u = solution.t - run_in / 2, 1e3 * solution.displacement(c)
    late = u[t >= 0.5]
    values = np.array([late[:, 0].max(), late[:, 0].min(), late[:, 1].min(), late[:, 2].min()])
    names = ("largest u_x of C (mm)", "smallest u_x (mm)", "smallest u_y (mm)", "smallest u_z (mm)")
    return compared(names, values, (119.938, -120.026, -121.288, -4.12772), 1e-2, SONNEVILLE)


@case("Haug's spin-up", "dynamics")
def spin_up() -> list[Quantity]:
    """A flexible arm of 8 m is spun up to 4 rad/s in 15 s (Wu and Haug 1988): deflection of its tip."""
    times = (2, 4, 5, 6, 7, 8, 10, 12)
    axial = (-0.0006551, -0.0072331, -0.0127233, -0.0181687, -0.0200481, -0.0182833, -0.0084531, -0.0014702)
    across = (-0.0952311, -0.3164648, -0.4198984, -0.5022314, -0.5285798, -0.5061981, -0.3471476, -0.1494823)
    model = Model()
    section = BeamSection(EA=5.03e6, GA=1.94e6, GJ=566, EI=566, mass=0.201, inertia=(45.4e-6, 22.7e-6, 22.7e-6))
    arm = Beam.line(model, (0, 0, 0), (8, 0, 0), section, 20)
    drive = SpinUp(rate=4.0, duration=15.0)
    model.add(RevoluteJoint(model.ground, arm.nodes[0], (0, 0, 1), drive=drive))
    solution = simulate(model, 20.0, 0.01, GeneralizedAlpha(0.0))
    angle = np.array([drive(t) for t in solution.t])
    x, y, _ = solution.position(arm.nodes[-1]).T
    seen = np.stack([np.cos(angle) * x + np.sin(angle) * y - 8, np.cos(angle) * y - np.sin(angle) * x], axis=-1)
    rows = [int(np.abs(solution.t - t).argmin()) for t in times]
    steady = seen[solution.t > 17, 0].mean()
    return [
        *compared([f"axial at t = {t} s (m)" for t in times], seen[rows, 0], axial, 1e-2, SONNEVILLE, 0.02),
        *compared([f"transverse at t = {t} s (m)" for t in times], seen[rows, 1], across, 1e-2, SONNEVILLE, 0.53),
        Quantity("steady stretch (m)", steady, 0.201 * 16 * 8**3 / (3 * 5.03e6), 5e-2, "linear theory"),
    ]


def _momentum(solution: Solution, k: int) -> Array:
    """Linear and angular momentum about the origin ``(6,)``, world frame."""
    system, motion = solution.system, solution.motion(k)
    evaluation = system.evaluate(motion, solution.multipliers_all[k], system.prescribe(motion.t))
    P = system.nodes_of(mass_product(system, evaluation, body_velocity(motion)))
    linear, angular = (np.matvec(motion.R, part) for part in (P[:, :3], P[:, 3:]))
    return np.concatenate([linear.sum(axis=0), (angular + np.cross(motion.x, linear)).sum(axis=0)])


def _flight(loads: Callable[[Node], list[Element]], EI: float) -> tuple[Solution, Beam]:
    """A free beam from (6, 0, 0) to (0, 8, 0), loaded at its lower end."""
    model = Model()
    section = BeamSection(EA=1e4, GA=1e4, GJ=EI, EI=EI, mass=1.0, inertia=(20, 10, 10))
    beam = Beam.line(model, (6, 0, 0), (0, 8, 0), section, 20)
    for load in loads(beam.nodes[0]):
        model.add(load)
    return simulate(model, 10.0, 0.025, GeneralizedAlpha(0.9)), beam


def _freedom(solution: Solution, unloaded: float, velocity: float) -> list[Quantity]:
    """What holds after the loads are gone, whatever the beam: its velocity and its momentum."""
    first = int(np.searchsorted(solution.t, unloaded))
    start, end = (_momentum(solution, k) for k in (first, -1))
    drift, size = np.abs(end - start), float(np.linalg.norm(start[3:]))
    return [
        Quantity("velocity of the mass centre (m/s)", start[0] / 10, velocity, 1e-3, "impulse over mass"),
        Quantity("drift of the linear momentum", drift[:3].max(), 0.0, 1e-5, "conservation", start[0]),
        Quantity("drift of the angular momentum", drift[3:].max(), 0.0, 5e-3, "conservation", size),
    ]


@case("flying spaghetti, 3D", "dynamics")
def flying_spaghetti_3d() -> list[Quantity]:
    """Simo and Vu-Quoc 1988: a free beam is pushed and twisted for 5 s at one end and then flies."""

    def pulse(t: float) -> float:
        return max(0.0, min(80 * t, 80 * (5 - t)))

    def loads(node: Node) -> list[Element]:
        return [Force(node, lambda t: (pulse(t) / 10, 0, 0)), Moment(node, lambda t: (0, -pulse(t) / 2, -pulse(t)))]

    solution, _ = _flight(loads, 500.0)
    return _freedom(solution, 5.0, 5.0)


@case("flying spaghetti, 2D", "dynamics")
def flying_spaghetti_2d() -> list[Quantity]:
    """Simo and Vu-Quoc 1986: a free beam is pushed and turned in its plane for 2.5 s and then flies."""

    def share(t: float) -> float:
        # the mean of the jump, where a step ends on it
        return 1.0 if t < 2.5 - 1e-9 else 0.5 if t < 2.5 + 1e-9 else 0.0

    def loads(node: Node) -> list[Element]:
        return [Force(node, lambda t: (8 * share(t), 0, 0)), Moment(node, lambda t: (0, 0, -80 * share(t)))]

    solution, beam = _flight(loads, 500.0)
    across = np.abs(solution.position(beam.nodes[-1])[:, 2]).max()
    return [*_freedom(solution, 2.55, 2.0), Quantity("motion out of the plane (m)", across, 0.0, 1e-9, "symmetry")]


@case("lateral buckling", "dynamics")
def lateral_buckling() -> list[Quantity]:
    """Bauchau and others 2016: a crank bends a thin beam upright until it snaps sideways at 0.18 s; up to there.

    The series snaps later than a beam with the stated offset of 0.1 mm does; with one of a micrometre the motion before
    the snap can be compared. Half the mesh size and a quarter of the step move our values by less than 0.1 %.
    """
    model = Model()
    beam_section = BeamSection(73e6, (5.025e6, 23.40e6), 877.2, (60830, 608.3), 2.68, (2255e-6, 2233e-6, 22.33e-6))
    link_section = BeamSection(33.02e6, 10.81e6, 914.5, 1189, 1.212, (43.65e-6, 21.825e-6, 21.825e-6))
    crank_section = BeamSection(132.1e6, 43.22e6, 14630, 19020, 4.85, (698.3e-6, 349.15e-6, 349.15e-6))
    beam = Beam.line(model, (0, 0, 0), (1, 0, 0), beam_section, 20, y_axis=(0, 1, 0))
    model.fix(beam.nodes[0])
    offset = 1e-6
    link = Beam.line(model, (1, offset, -0.25), (1, offset, 0), link_section, 8)
    crank = Beam.line(model, (0.95, offset, -0.25), (1, offset, -0.25), crank_section, 4)
    model.add(SphericalJoint(beam.nodes[-1], link.nodes[-1], point=(1, offset, 0)))
    model.add(RevoluteJoint(link.nodes[0], crank.nodes[-1], (0, 1, 0)))

    def drive(t: float) -> float:
        return float(-np.pi / 2 * (1 - np.cos(np.pi * min(t, 0.4) / 0.4)))

    model.add(RevoluteJoint(model.ground, crank.nodes[0], (0, 1, 0), drive=drive))
    solution = simulate(model, 0.15, 1e-3)
    middle = beam.nodes[10]
    rows = [int(np.abs(solution.t - t).argmin()) for t in (0.10, 0.15)]
    u, turn = solution.displacement(middle), np.degrees(np.linalg.norm(solution.rotation_vector(middle), axis=-1))
    return [
        *compared(("u_z at 0.10 s (mm)", "u_z at 0.15 s (mm)"), 1e3 * u[rows, 2], (6.933, 12.645), 1e-2, SONNEVILLE),
        *compared(
            ("rotation at 0.10 s (deg)", "rotation at 0.15 s (deg)"), turn[rows], (1.418, 2.586), 2e-2, SONNEVILLE
        ),
        *compared(("u_x at 0.15 s (mm)",), 1e3 * u[rows[1:], 0], (-0.195,), 2e-2, SONNEVILLE),
    ]
