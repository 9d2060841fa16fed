"""Benchmarks of machines: linkages of the IFToMM library, a robot, rotors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.integrate import simpson

from fem_mbs.alpha.generalized_alpha import GeneralizedAlpha
from fem_mbs.arrays import Array
from fem_mbs.benchmarks import high_speed_rotor, jeffcott, linkages, puma, rotating_shaft
from fem_mbs.benchmarks.governor import GOVERNOR
from fem_mbs.benchmarks.problem import BenchmarkProblem
from fem_mbs.benchmarks.slider_crank import GONZALEZ, SLIDER_CRANK
from fem_mbs.benchmarks.squeezer import SQUEEZER
from fem_mbs.methods.runge_kutta import RungeKuttaMuntheKaas
from fem_mbs.run.simulate import simulate
from fem_mbs.solution.solution import Solution
from fem_mbs.static.statics import statics
from fem_mbs.validation.case import Quantity, case, compared, converged, order, refine, rows, twice_extrapolated

EXACT = "exact solution, one coordinate"
STEP = "the step"


def solve(
    problem: BenchmarkProblem, steps: int, group: str = "R3xSO3", method: GeneralizedAlpha | None = None
) -> tuple[Solution, Array]:
    """A run of a problem in equal steps, and its quantities at its times ``(nt, k)``."""
    solution = simulate(problem.build(group), problem.t_end, problem.t_end / steps, method)
    at = rows(solution.t, problem.times)
    if np.abs(solution.t[at] - problem.times).max() > 1e-9:
        raise ValueError(f"{problem.name}: {steps} steps do not all end at {problem.times}")
    return solution, problem.read(solution)[at]


def _by_quantity(problem: BenchmarkProblem, values: Array, tolerance: float, source: str) -> list[Quantity]:
    result, exact = [], problem.exact()
    for column, (name, scale) in enumerate(zip(problem.quantities, problem.scale, strict=True)):
        names = [f"{name} at t = {t:g} s" for t in problem.times]
        result += compared(names, values[:, column], exact[:, column], tolerance, source, scale)
    return result


def check(problem: BenchmarkProblem, steps: Sequence[int], tolerance: float, source: str = EXACT) -> list[Quantity]:
    """Extrapolated values of a problem beside its references."""
    values, found = refine(lambda count: solve(problem, count)[1], steps)
    return [*_by_quantity(problem, values, tolerance, source), order(found, STEP)]


def _drift(problem: BenchmarkProblem, steps: int, exchanged: float) -> Quantity:
    """The criterion of the library: the largest change of energy, beside what weight exchanges with motion."""
    total = solve(problem, steps)[0].energy.total
    drift = float(np.abs(total - total[0]).max())
    return Quantity("largest change of energy (J)", drift, 0.0, 5e-4, "conservation", exchanged)


@case("IFToMM A01, simple pendulum", "machines")
def simple_pendulum() -> list[Quantity]:
    """A point mass of 1 kg on a massless rod of 1 m, let go from the side."""
    return check(linkages.PENDULUM, (1000, 2000, 4000), 1e-5)


@case("IFToMM A02, N-four-bar", "machines", slow=True)
def two_windows() -> list[Quantity]:
    """Two parallelograms side by side turn over and pass ten positions with all bars in line."""
    return [*check(linkages.TWO_WINDOWS, (2000, 4000, 8000), 1e-4), _drift(linkages.TWO_WINDOWS, 4000, 68.7)]


@case("IFToMM A02 with 40 windows", "machines", slow=True)
def forty_windows() -> list[Quantity]:
    """Forty parallelograms side by side: 81 bars, 121 hinges, at positions in line 41 ways to go on."""
    return [*check(linkages.FORTY_WINDOWS, (1000, 2000, 4000), 1e-3), _drift(linkages.FORTY_WINDOWS, 2000, 1187.0)]


@case("IFToMM A04, Bricard's linkage", "machines")
def bricard() -> list[Quantity]:
    """Five rods and six hinges in a ring that should not move by the count of its equations, and does."""
    return check(linkages.LINKAGE, (250, 500, 1000), 1e-5)


@case("IFToMM A05, flyball governor", "machines", slow=True)
def governor() -> list[Quantity]:
    """A governor swings up and down; the longest steps are 160 times as long as its couplers take to come to rest."""
    return check(GOVERNOR, (500, 1000, 2000), 1e-4, "exact solution, three coordinates")


def _rotor(run_up: bool, table: Mapping[float, Sequence[float]]) -> list[Quantity]:
    """A run beside a table whose numbers have five digits after the point."""
    solution = simulate(high_speed_rotor.high_speed_rotor(run_up=run_up), 4.0, 4e-4, RungeKuttaMuntheKaas("RK6"))
    values, quantities = high_speed_rotor.read(solution), []
    for t, references in table.items():
        _, y, z, spin, *_ = values[rows(solution.t, (t,))[0]]
        shown = (
            ("y of the left end", "mm", 1e3 * y, 10.0),
            ("z of it", "mm", 1e3 * z, 10.0),
            ("spin", "rad/s", spin, 1e3),
        )
        for (name, unit, value, scale), expected in zip(shown, references, strict=False):
            name = f"{name} at t = {t:g} s ({unit})"
            quantities.append(Quantity(name, value, expected, 1e-6, "momenta, eighth-order Runge-Kutta", scale))
    return quantities


@case("high-speed rotor", "machines", slow=True)
def steady() -> list[Quantity]:
    """A rotor at 9549 rpm on soft supports precesses under a moment: one end of its shaft, and its spin."""
    return _rotor(False, high_speed_rotor.STEADY)


@case("high-speed rotor, run-up", "machines", slow=True)
def run_up() -> list[Quantity]:
    """The same rotor, run up from rest in 1 s through its critical speeds."""
    return _rotor(True, high_speed_rotor.FROM_REST)


@case("Jeffcott rotor", "machines", slow=True)
def jeffcott_rotor() -> list[Quantity]:
    """A disk that is out of balance by 1 mm runs up through its critical speed of 63 rad/s in elastic bearings."""
    times = jeffcott.TIMES

    def run(steps: int) -> Array:
        solution = simulate(jeffcott.jeffcott(), times[-1], times[-1] / steps)
        return jeffcott.read(solution)[rows(solution.t, times)]

    values, found = refine(run, (500, 1000, 2000))
    exact, quantities = jeffcott.exact(), []
    for k, (name, scale) in enumerate(
        (("x over the offset", 10.0), ("y over the offset", 10.0), ("speed (rad/s)", 120.0))
    ):
        names = [f"{name} at t = {t:g} s" for t in times]
        quantities += compared(names, values[:, k], exact[:, k], 1e-4, "exact solution, three coordinates", scale)
    return [*quantities, order(found, STEP)]


def _robot(compensated: bool, table: Mapping[float, Sequence[float]]) -> list[Quantity]:
    runs = []
    for steps in (320, 640, 1280):
        solution = simulate(puma.puma(compensated=compensated), puma.DURATION, puma.DURATION / steps)
        runs.append(puma.read(solution)[rows(solution.t, [*table])])
    quantities = []
    for t, found in zip(table, twice_extrapolated(*runs), strict=True):
        names = [f"angle {k} at t = {t:g} s (rad)" for k in range(1, 7)]
        source = "minimal coordinates, and absolute ones with multipliers"
        quantities += compared(names, found, table[t], 1e-6, source, 1.0)
    return quantities


@case("Puma 560", "machines", slow=True)
def compensated() -> list[Quantity]:
    """A robot with six hinges follows angles in time by stiff springs and dampers; motors bear the weight at rest."""
    return _robot(True, puma.COMPENSATED)


@case("Puma 560 without compensation", "machines", slow=True)
def plain() -> list[Quantity]:
    """The same robot, which sags under its weight until the springs hold it."""
    return _robot(False, puma.PLAIN)


@case("rotating shaft", "machines", slow=True)
def shaft() -> list[Quantity]:
    """A shaft of 6 m under its weight, driven through its critical speed: whirl of a disk a little out of balance.

    The sag and the motion without weight are compared each for itself. With the published offset of 50 mm the shaft
    bends too far for a linear model; what the drive gives is then compared with what the shaft has, from the sag on.
    """
    times, small = (0.5, 1.0, 1.25, 2.0, 2.5), 5e-4

    def run(steps: int) -> Array:
        model, disk = rotating_shaft.rotating_shaft(small, gravity=0.0)
        solution = simulate(model, 2.5, 2.5 / steps)
        across = solution.position(disk)[:, 1:]
        moved: Array = ((across[rows(solution.t, times)] - across[0]) / small).ravel()
        return moved

    still, disk = rotating_shaft.rotating_shaft(small, _held)
    sag = statics(still, ramp=False).displacement(disk)[-1, 2]
    exact = rotating_shaft.motion(np.array(times))
    references = np.stack([exact.real, exact.imag], axis=-1).ravel()
    names = [f"{axis} over the offset at t = {t} s" for t in times for axis in "yz"]
    return [
        Quantity("static sag (m)", -sag, rotating_shaft.sag(), 1e-5, "Ritz, linear"),
        *converged(names, run, (1000, 2000, 4000), references, 2e-4, "Ritz, linear", 5.0, STEP),
        _work(),
    ]


def _held(t: float) -> float:
    return 0.0


def _work() -> Quantity:
    """Work of the drive with the published offset, from its moment, beside the energy of the shaft."""
    still, _ = rotating_shaft.rotating_shaft(drive=_held)
    sag = statics(still, ramp=False).state(-1).at(0.0)
    model, _ = rotating_shaft.rotating_shaft()
    solution = simulate(model, 2.5, 1e-3, initial=sag)
    moment = solution.reaction("drive")[1][:, 0]
    work = simpson(moment * [rotating_shaft.drive(t)[1] for t in solution.t], x=solution.t)
    energy = solution.energy.total
    return Quantity("work of the drive, offset 50 mm (J)", work, energy[-1] - energy[0], 2e-3, "energy of the shaft")


@case("IFToMM spatial slider-crank", "machines", slow=True)
def spatial_slider_crank() -> list[Quantity]:
    """Haug 1989: a crank that is let go with 6 rad/s moves a slider across over a rod in space."""
    runs = [solve(SLIDER_CRANK, steps)[1] for steps in (2500, 5000, 10000)]
    values = twice_extrapolated(*runs)
    found = float(np.log2(np.linalg.norm(runs[1] - runs[0]) / np.linalg.norm(runs[2] - runs[1])))
    names = [f"slider (m) at t = {t:g} s" for t in SLIDER_CRANK.times]
    return [
        *_by_quantity(SLIDER_CRANK, values, 1e-6, EXACT),
        order(found, STEP),
        *compared(names, values[:, 0], GONZALEZ, 5e-4, "Gonzalez, through Exudyn"),
    ]


@case("IFToMM A03, Andrews' squeezer", "machines")
def squeezer() -> list[Quantity]:
    """Andrews' squeezing mechanism after 30 ms: angles, rates, and the forces at the joint of four bodies."""
    return check(SQUEEZER, (250, 500, 1000), 2e-4, "test set of initial value problems")
