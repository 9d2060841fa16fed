r"""The lightest four-bar linkage for a given path.

Hoecken's linkage leads a tool of 2 kg along a path that is nearly straight for half a turn of its crank. Its bars are
tubes that bend, the more the thinner they are. How light may they be if the tool, three times a second around, has to
stay within a millimetre of the path, as the root of the mean square over the first turn at speed?

The radii of three tubes and the lengths of the bars are seven parameters, as bars of other lengths may meet the path
that Hoecken's leave when they bend. The mass is a formula; {py:func}`mbs.objective` gives the deviation of a run with
its gradient, through the drive's start, and `scipy.optimize` finds the least mass in fourteen runs. A crank that is
0.6 % shorter, whose tool is then slung onto the path, saves most: with Hoecken's lengths the same tubes miss it by
1.6 mm. At the optimum the gradients of mass and deviation are parallel, but for what is at a bound.
"""

import time

import numpy as np
from _run import main_of, panels
from scipy.optimize import minimize

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, PointMass, RevoluteJoint, SpinUp

TOOL, GROUND, ALLOWED = 2.0, 0.2, 1e-3  # kg, m, m
SPEED, START, TURN, STEP = 6 * np.pi, 1 / 6, 1 / 3, 1 / 180  # rad/s, s, s, s
THIN, MATERIAL = 0.8, {"E": 70e9, "nu": 0.33, "rho": 2700.0}  # inner over outer radius, aluminium
HOECKEN = {"crank": 0.1, "near": 0.25, "far": 0.25, "rocker": 0.25}
"""Lengths in m: of the coupler up to the rocker, and beyond it to the tool."""
THICK = {"r_crank": 0.02, "r_coupler": 0.02, "r_rocker": 0.02}
NAMES = [*THICK, *HOECKEN]
LIMITS = [(-0.5, 0.5)] * 3 + [(-3.0, 3.0)] * 4  # of the logarithms of radii over the first, of lengths in per cent


def places(angle, crank, near, far, rocker):
    """Ends of the crank and the rocker and the tool, of bars that do not bend, `(..., 2)` each."""
    hand = crank * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    way = np.array([GROUND, 0.0]) - hand
    distance = np.linalg.norm(way, axis=-1, keepdims=True)
    along = (distance**2 + near**2 - rocker**2) / (2 * distance)
    across = way[..., ::-1] * [-1.0, 1.0] / distance
    elbow = hand + along * way / distance + np.sqrt(near**2 - along**2) * across
    return hand, elbow, elbow + far / near * (elbow - hand)


def build(r_crank, r_coupler, r_rocker, **lengths):
    model = mbs.Model(gravity=(0, -9.81, 0))
    hand, elbow, tool = (np.append(place, 0.0) for place in places(0.0, **lengths))
    bars = [BeamSection.tube(r, THIN * r, **MATERIAL) for r in (r_crank, r_coupler, r_rocker)]
    crank = Beam.line(model, (0, 0, 0), hand, bars[0], 1, order=2, name="crank")
    near = Beam.line(model, hand, elbow, bars[1], 1, order=2, name="near")
    far = Beam.line(model, elbow, tool, bars[1], 1, order=2, start_node=near.nodes[-1], name="far")
    rocker = Beam.line(model, (GROUND, 0, 0), elbow, bars[2], 1, order=2, name="rocker")
    model.add(PointMass(far.nodes[-1], TOOL))
    z = (0, 0, 1)
    model.add(RevoluteJoint(model.ground, crank.nodes[0], z, drive=SpinUp(SPEED, START)), name="drive")
    model.add(RevoluteJoint(crank.nodes[-1], near.nodes[0], z))
    model.add(RevoluteJoint(model.ground, rocker.nodes[0], z))
    model.add(RevoluteJoint(rocker.nodes[-1], near.nodes[-1], z))
    return model


def tool_path(solution):
    return solution.position(solution.model["far"].nodes[-1])[:, :2]


def deviation(solution):
    """Square of the distance from the path over that allowed, of the last turn."""
    path = places(np.array([SpinUp(SPEED, START)(t) for t in solution.t]), **HOECKEN)[2]
    squares = ((tool_path(solution) - path) ** 2).sum(axis=1) / ALLOWED**2
    return np.where(solution.t > START + 1e-9, squares, 0.0) / TURN


def mass(p):
    """Of the bars, and its gradient."""
    r, (crank, near, far, rocker) = p[:3], p[3:]
    area = MATERIAL["rho"] * np.pi * (1 - THIN**2)
    lengths = np.array([crank, near + far, rocker])
    return area * r**2 @ lengths, area * np.append(2 * r * lengths, (r**2)[[0, 1, 1, 2]])


def parameters(x):
    """Of what is optimised, logarithms of radii and per cent of the lengths; and their derivatives."""
    start = np.array([*THICK.values(), *HOECKEN.values()])
    radii, lengths = np.exp(x[:3]), 1 + x[3:] / 100
    return start * np.append(radii, lengths), start * np.append(radii, np.full(4, 0.01))


def best():
    """Parameters of the lightest, masses and deviations on the way, how parallel gradients are, and the seconds."""
    f = mbs.objective(build, mbs.Integral(deviation), NAMES, START + TURN, STEP, how="direct")
    way = []

    def room(x):
        """Logarithm of what is allowed over what is, and its gradient."""
        p, slope = parameters(x)
        value, gradient = f(p)
        if f.evaluations > len(way):
            way.append((mass(p)[0], np.sqrt(value)))
        return -np.log(value), -gradient * slope / value

    def weight(x):
        p, slope = parameters(x)
        value, gradient = mass(p)
        return value, gradient * slope

    inside = {"type": "ineq", "fun": lambda x: room(x)[0], "jac": lambda x: room(x)[1]}
    options, started = {"ftol": 1e-4}, time.perf_counter()
    found = minimize(weight, np.zeros(7), jac=True, method="SLSQP", bounds=LIMITS, constraints=inside, options=options)
    seconds = time.perf_counter() - started
    free = np.abs(found.x) < [bound[1] - 1e-3 for bound in LIMITS]
    one, other = (function(found.x)[1][free] for function in (weight, room))
    parallel = (one @ other) / np.sqrt((one @ one) * (other @ other))
    return parameters(found.x)[0], np.array(way), parallel, f.evaluations, seconds


def run():
    p, way, parallel, evaluations, seconds = best()
    print(f"{evaluations} runs with gradients, {seconds:.1f} s")
    print(", ".join(f"{name} {1e3 * number:.2f} mm" for name, number in zip(NAMES, p, strict=True)))
    return mbs.simulate(build(**dict(zip(NAMES, p, strict=True))), START + TURN, STEP), p, way, parallel


def root_mean_square(p, step=STEP):
    """Of the distance from the path in mm."""
    solution = mbs.simulate(build(**dict(zip(NAMES, p, strict=True))), START + TURN, step)
    return 1e3 * ALLOWED * np.sqrt(np.trapezoid(deviation(solution), solution.t))


def compare(solution, p, way, parallel):
    first, unchanged = parameters(np.zeros(7))[0], np.append(p[:3], [*HOECKEN.values()])
    return {
        "mass of the first (kg)": (way[0, 0], mass(first)[0]),
        "mass of the lightest (kg)": (mass(p)[0], np.nan),
        "its deviation (mm)": (root_mean_square(p), 1e3 * ALLOWED),
        "in steps of half the length (mm)": (root_mean_square(p, STEP / 2), 1e3 * ALLOWED),
        "with Hoecken's lengths (mm)": (root_mean_square(unchanged), np.nan),
        "cosine of the gradients": (parallel, 1.0),
    }


def figure(solution, p, way, parallel, file):
    first = mbs.simulate(build(**THICK, **HOECKEN), START + TURN, STEP)
    angles = np.array([SpinUp(SPEED, START)(t) for t in solution.t])
    turn = solution.t > START - 1e-9
    given = places(angles, **HOECKEN)[2]
    bars = np.array([(0.0, 0.0), *(place for place in places(0.0, **dict(zip(NAMES[3:], p[3:], strict=True))))])
    linkage = np.array([*bars[:3], (GROUND, 0.0), bars[2], bars[3]])
    paths = [("given", *1e3 * given[turn].T, "k--")]
    paths += [(name, *1e3 * tool_path(own)[turn].T) for name, own in (("first", first), ("lightest", solution))]
    paths += [("", *1e3 * linkage.T, "o-")]
    off = [
        (name, np.degrees(angles[turn]), 1e3 * np.linalg.norm(tool_path(own) - given, axis=1)[turn])
        for name, own in (("first", first), ("lightest", solution))
    ]
    runs = np.arange(1, len(way) + 1)
    panels(
        file,
        ("x (mm)", "y (mm)", *paths),
        ("angle of the crank (deg)", "distance from the path (mm)", *off),
        (
            "evaluation",
            "mass (kg), deviation (mm)",
            ("mass", runs, way[:, 0], "o-"),
            ("deviation", runs, 1e3 * ALLOWED * way[:, 1], "x:"),
        ),
    )


main = main_of(__file__, run, compare, figure)
if __name__ == "__main__":
    main()
