r"""Lie group methods against angles and Euler parameters.

Figures and tables of *Evaluation and implementation of Lie group integration methods for rigid multibody systems*
(Holzinger, Arnold, Gerstmayr, Multibody System Dynamics, 2024). The paper compares three formulations on a heavy top
with and without joint, a high-speed rotor, a spatial slider-crank and a robot:

| | implicit | explicit |
|---|---|---|
| RV, rotations on the group | `GeneralizedAlpha` | `RungeKuttaMuntheKaas` |
| Rxyz, Tait-Bryan angles | `ClassicalAlpha("tait_bryan")` | `ClassicalRungeKutta` |
| EP, Euler parameters | `ClassicalAlpha("euler_parameters")` | |

and leaves open what $SE(3)$ and flexible bodies change; these are here, too. The page [Reproduced from the
papers](/reproduced.md) has the figures and our numbers beside the statements of the paper.

`python examples/reproduce_2024.py` prints some numbers in a few seconds. `--study` prints errors, Newton iterations
and CPU times over the steps, of all systems (a quarter of an hour) or of those named, as in `--study rotor puma`;
`--plot` writes the figures of the same systems into `out/`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # where the other examples are
from examples._reproduce_2024 import figures, runs, study
from examples._reproduce_2024.runs import EP, RV, RXYZ, SE3, explicit, implicit


def compare():
    """Each number as computed and as an independent implementation has it; nan where there is none."""
    errors = {  # benchmark, formulation, step: error
        ("free top", RV, 1e-3): 8.281e-2,
        ("free top", EP, 1e-3): 7.630e-3,
        ("free top, tilted", RXYZ, 1e-3): 1.398e-5,
        ("top on joint", RV, 1e-3): 7.274e-3,
        ("top on joint", EP, 1e-3): 2.031e-3,
        ("top on joint, tilted", RXYZ, 1e-3): 3.999e-5,
        ("top on joint", SE3, 1e-3): 8.281e-2,
        ("slider-crank, 1 s", RV, 4e-3): 4.870e-4,
        ("slider-crank, 1 s", RXYZ, 4e-3): 4.009e-4,
        ("slider-crank, 1 s", EP, 4e-3): 4.073e-4,
    }
    numbers = {
        f"{system}, {name}, h = {1e3 * h:g} ms: error (m)": (implicit(system, name, h).error, expected)
        for (system, name, h), expected in errors.items()
    }
    for tableau, expected in (("ODE23", 2.17e-2), ("RK4", 1.344e-4), ("DOPRI5", 3.08e-6), ("RK6", 2.146e-7)):
        numbers[f"free top, RV by {tableau}, h = 1 ms: error (m)"] = (
            explicit("free top", RV, tableau, 1e-3).error,
            expected,
        )
    for name in (*runs.IMPLICIT, SE3, "minimal"):
        numbers[f"Puma at 0.5 s, {name}, h = 25 ms: error (rad)"] = implicit("Puma, 0.5 s", name, 0.025).error, np.nan
    return numbers


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = ", ".join(study.PARTS)
    parser.add_argument("--study", nargs="*", metavar="system", help=f"errors over the steps: {what}; all by default")
    parser.add_argument("--plot", action="store_true", help="write out/reproduced_2024_*.png")
    parser.add_argument("--paraview", action="store_true", help="write out/reproduce_2024.pvd, the robot")
    options = parser.parse_args(argv)
    parts = options.study or [*study.PARTS]
    if unknown := set(parts) - set(study.PARTS):
        parser.error(f"no system {', '.join(sorted(unknown))}; there are {what}")

    numbers = {} if options.study else compare()
    for name, (computed, expected) in numbers.items():
        print(f"{name:56}{computed:12.4g}" + ("" if np.isnan(expected) else f"   expected {expected:.4g}"))
    Path("out").mkdir(exist_ok=True)
    if options.study is not None or options.plot:
        for name in parts:
            found = study.PARTS[name]()
            if options.plot:
                figures.draw(name, found, Path("out"))
    if options.paraview:
        figures.robot(1e-2)[0].to_paraview("out/reproduce_2024")
    return numbers


if __name__ == "__main__":
    main()
