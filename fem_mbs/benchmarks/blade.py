"""The blade of the reference turbine NREL 5 MW: under 10 kN/m, its frequencies, and gravity put on at once.

Data and results of BeamDyn (NREL), ``Dvr_5MW_Static`` and ``bd_5MW_dynamic_gravity_Az90`` of OpenFAST. It takes one
element of order 5, whose two lowest frequencies are 1.0 and 0.5 % high. The exact values are of the same blade: by
shooting, and by 24 linear Legendre elements of order 3 with Gauss points between all stations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fem_mbs.arrays import Array
from fem_mbs.benchmarks.case import Quantity, case, compared, rows
from fem_mbs.benchmarks.equilibria import EXACT
from fem_mbs.elements import Beam, BeamSection, DistributedLoad
from fem_mbs.methods.radau import RadauIIA
from fem_mbs.modal.modes import modes
from fem_mbs.model.model import Model
from fem_mbs.run.simulate import simulate
from fem_mbs.static.statics import statics

LENGTH, DAMPING = 61.5, 1e-3
STATIONS = np.array([
    (0, 13.308, 9.72948e9, 5.5644e9, 1.81136e+10, 1.811e+10, 678.935, 0.1154189, 973.04, 972.86),
    (0.00325, 13.308, 9.72948e9, 5.5644e9, 1.81136e+10, 1.811e+10, 678.935, 0.1154189, 973.04, 972.86),
    (0.01951, 13.308, 1.07895e+10, 5.43159e9, 1.95586e+10, 1.94249e+10, 773.363, -17.85695, 1066.38, 1091.52),
    (0.03577, 13.308, 1.006723e+10, 4.99398e9, 1.94978e+10, 1.74559e+10, 740.55, 2.547492, 1047.36, 966.09),
    (0.05203, 13.308, 9.86778e9, 4.66659e9, 1.97888e+10, 1.52874e+10, 740.042, 32.15482, 1099.75, 873.81),
    (0.06829, 13.308, 7.60786e9, 3.47471e9, 1.48585e+10, 1.07824e+10, 592.496, 34.91579, 873.02, 648.55),
    (0.08455, 13.308, 5.49126e9, 2.32354e9, 1.02206e+10, 7.22972e9, 450.275, 29.24086, 641.49, 456.76),
    (0.10081, 13.308, 4.9713e9, 1.90787e9, 9.1447e9, 6.30954e9, 424.054, 32.72849, 593.73, 400.53),
    (0.11707, 13.308, 4.49395e9, 1.57036e9, 8.06316e9, 5.52836e9, 400.638, 33.62955, 547.18, 351.61),
    (0.13335, 13.308, 4.0348e9, 1.15826e9, 6.88444e9, 4.98006e9, 382.062, 38.87099, 490.84, 316.12),
    (0.14959, 13.308, 4.03729e9, 1.00212e9, 7.00918e9, 4.93684e9, 399.655, 42.99488, 503.86, 303.6),
    (0.16585, 13.308, 4.16972e9, 8.559e8, 7.16768e9, 4.69166e9, 426.321, 67.48235, 544.7, 289.24),
    (0.18211, 13.181, 4.08235e9, 6.7227e8, 7.27166e9, 3.94946e9, 416.82, 92.67993, 569.9, 246.57),
    (0.19837, 12.848, 4.08597e9, 5.4749e8, 7.0817e9, 3.38652e9, 406.186, 124.9266, 601.28, 215.91),
    (0.21465, 12.192, 3.66834e9, 4.4884e8, 6.24453e9, 2.93374e9, 381.42, 115.8983, 546.56, 187.11),
    (0.23089, 11.561, 3.14776e9, 3.3592e8, 5.04896e9, 2.56896e9, 352.822, 93.56487, 468.71, 160.84),
    (0.24715, 11.072, 3.01158e9, 3.1135e8, 4.94849e9, 2.38865e9, 349.477, 90.65783, 453.76, 148.56),
    (0.26341, 10.792, 2.88262e9, 2.9194e8, 4.80802e9, 2.27199e9, 346.538, 86.65876, 436.22, 140.3),
    (0.29595, 10.232, 2.61397e9, 2.61e8, 4.5014e9, 2.05005e9, 339.333, 78.57256, 398.18, 124.61),
    (0.32846, 9.672, 2.35748e9, 2.2882e8, 4.24407e9, 1.82825e9, 330.004, 67.26142, 362.08, 109.42),
    (0.36098, 9.11, 2.14686e9, 2.0075e8, 3.99528e9, 1.58871e9, 321.99, 64.18549, 335.01, 94.36),
    (0.3935, 8.534, 1.94409e9, 1.7438e8, 3.75076e9, 1.36193e9, 313.82, 60.63944, 308.57, 80.24),
    (0.42602, 7.932, 1.6327e9, 1.4447e8, 3.44714e9, 1.10238e9, 294.734, 44.19242, 263.87, 62.67),
    (0.45855, 7.321, 1.4324e9, 1.1998e8, 3.13907e9, 8.758e8, 287.12, 44.27678, 237.06, 49.42),
    (0.49106, 6.711, 1.16876e9, 8.119e7, 2.73424e9, 6.813e8, 263.343, 34.89821, 196.41, 37.34),
    (0.52358, 6.122, 1.04743e9, 6.909e7, 2.55487e9, 5.3472e8, 253.207, 33.70945, 180.34, 29.14),
    (0.5561, 5.546, 9.2295e8, 5.745e7, 2.33403e9, 4.089e8, 241.666, 33.91782, 162.43, 22.16),
    (0.58862, 4.971, 7.6082e8, 4.592e7, 1.82873e9, 3.1454e8, 220.638, 30.779, 134.83, 17.33),
    (0.62115, 4.401, 6.4803e8, 3.598e7, 1.5841e9, 2.3863e8, 200.293, 30.31234, 116.3, 13.3),
    (0.65366, 3.834, 5.397e8, 2.744e7, 1.32336e9, 1.7588e8, 179.404, 31.24859, 97.98, 9.96),
    (0.68618, 3.332, 5.3115e8, 2.09e7, 1.18368e9, 1.2601e8, 165.094, 41.14473, 98.93, 7.3),
    (0.7187, 2.89, 4.6001e8, 1.854e7, 1.02016e9, 1.0726e8, 154.411, 40.18083, 85.78, 6.22),
    (0.75122, 2.503, 3.7575e8, 1.628e7, 7.9781e8, 9.088e7, 138.935, 31.3354, 69.96, 5.19),
    (0.78376, 2.116, 3.2889e8, 1.453e7, 7.0961e8, 7.631e7, 129.555, 29.53206, 61.41, 4.36),
    (0.81626, 1.73, 2.4404e8, 9070000, 5.1819e8, 6.105e7, 107.264, 22.09638, 45.44, 3.36),
    (0.84878, 1.342, 2.116e8, 8060000, 4.5487e8, 4.948e7, 98.776, 21.39686, 39.57, 2.75),
    (0.8813, 0.954, 1.8152e8, 7080000, 3.9512e8, 3.936e7, 90.248, 20.5621, 34.09, 2.21),
    (0.89756, 0.76, 1.6025e8, 6090000, 3.5372e8, 3.467e7, 83.001, 19.19315, 30.12, 1.93),
    (0.91382, 0.574, 1.0923e8, 5750000, 3.0473e8, 3.041e7, 72.906, 10.80904, 20.15, 1.69),
    (0.93008, 0.404, 1.0008e8, 5330000, 2.8142e8, 2.652e7, 68.772, 10.55375, 18.53, 1.49),
    (0.93821, 0.319, 9.224e7, 4940000, 2.6171e8, 2.384e7, 66.264, 10.19273, 17.11, 1.34),
    (0.94636, 0.253, 6.323e7, 4240000, 1.5881e8, 1.963e7, 59.34, 5.619498, 11.55, 1.1),
    (0.95447, 0.216, 5.332e7, 3660000, 1.3788e8, 1.6e7, 55.914, 5.042325, 9.77, 0.89),
    (0.9626, 0.178, 4.453e7, 3130000, 1.1879e8, 1.283e7, 52.484, 4.493155, 8.19, 0.71),
    (0.97073, 0.14, 3.69e7, 2640000, 1.0163e8, 1.008e7, 49.114, 3.94631, 6.82, 0.56),
    (0.97886, 0.101, 2.992e7, 2170000, 8.507e7, 7550000, 45.818, 3.251245, 5.57, 0.42),
    (0.98699, 0.062, 2.131e7, 1580000, 6.426e7, 4600000, 41.669, 2.260127, 4.01, 0.25),
    (0.99512, 0.023, 4850000, 250000, 6610000, 250000, 11.453, 0.6169731, 0.94, 0.04),
    (1, 0, 3530000, 190000, 5010000, 170000, 10.319, 0.5346274, 0.68, 0.02),
])  # fmt: skip
"""Share of the length; twist in degrees; EA, GJ, EI about x (edge) and y (flap); mass, mass times y of its centre,
moments of inertia about x and y, all per length, in SI units. The shear stiffness is EA/10.
"""
LOADED = {"exact": (9.685964, -0.648958, -1.316497), "BeamDyn": (9.561, -0.6343, -1.293)}
"""Displacement of the tip in m under 10 kN/m along x."""
FREQUENCIES = (0.685440, 1.080561, 1.945096, 3.739011, 4.360949, 5.807869)
FALL = {0.1: (-0.04313, -0.04611), 0.2: (-0.33056, -0.32661), 0.3: (-0.65604, -0.65114), 0.4: (-0.80853, -0.80317)}
"""Time (s): y of the tip in m under sudden gravity along -y, of linear theory and of BeamDyn."""


def _section(damping: float) -> Callable[[float], BeamSection]:
    """Sections, linear between stations, with axes along the blade and along its twisted x and y."""

    def at(share: float) -> BeamSection:
        EA, GJ, EIx, EIy, m, my, Jx, Jy = (np.interp(share, STATIONS[:, 0], column) for column in STATIONS[:, 2:].T)
        mass = np.diag([m, m, m, Jx + Jy, Jx, Jy])
        mass[0, 4] = mass[4, 0] = my
        mass[1, 3] = mass[3, 1] = -my
        return BeamSection.general(np.diag([EA, EA / 10, EA / 10, GJ, EIx, EIy]), mass).with_damping(damping)

    return at


def blade(order: int, damping: float = 0.0, gravity: tuple[float, float, float] = (0, 0, 0)) -> tuple[Model, Beam]:
    """The blade along z, clamped at its root, one element between two stations."""
    model = Model(gravity=gravity)
    ends = LENGTH * STATIONS[:, 0]
    places = np.interp(np.arange(order * (len(ends) - 1) + 1) / order, np.arange(len(ends)), ends)
    nodes = [model.add_node((0, 0, place)) for place in places]

    def y_axis(place: Array) -> tuple[float, float, float]:
        twist = -np.radians(np.interp(place[2], ends, STATIONS[:, 1]))
        return float(np.cos(twist)), float(np.sin(twist)), 0.0

    beam = model.add(Beam(nodes, _section(damping), order=order, y_axis=y_axis))
    model.fix(nodes[0])
    return model, beam


@case("NREL 5 MW blade", "machines")
def blade_case() -> Iterator[Quantity]:
    """A twisted blade of 61.5 m with 49 stations: bent by 10 m, its six lowest frequencies, and how it falls."""
    model, beam = blade(2)
    model.add(DistributedLoad(beam, (1e4, 0, 0)))
    tip = statics(model).displacement(beam.nodes[-1])[-1]
    names = [f"tip under 10 kN/m, {axis} (m)" for axis in "xyz"]
    falling, beam = blade(1, DAMPING, (0, -9.8, 0))
    solution = simulate(falling, 0.4, 5e-3, RadauIIA())
    fall = solution.displacement(beam.nodes[-1])[rows(solution.t, [*FALL]), 1]
    linear, computed = zip(*FALL.values(), strict=True)
    times = [f"tip after {t} s of gravity, y (m)" for t in FALL]
    beamdyn = "computed: BeamDyn, one element"
    yield from compared(names, tip, LOADED["exact"], 2e-5, EXACT, scale=9.7)
    yield from compared(names, tip, LOADED["BeamDyn"], 2e-2, beamdyn, scale=9.7)
    yield from compared(
        [f"frequency {k} (Hz)" for k in range(1, 7)],
        modes(blade(3)[0], 6).frequencies,
        FREQUENCIES,
        1e-5,
        "exact: Legendre elements",
    )
    yield from compared(times, fall, linear, 2e-3, "exact: Legendre elements, linear", scale=0.9)
    yield from compared(times, fall, computed, 1e-2, beamdyn, scale=0.9)
