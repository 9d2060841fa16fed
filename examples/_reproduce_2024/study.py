"""Errors, iterations and times over the steps, printed one system after the other."""

from __future__ import annotations

from functools import partial

import numpy as np

from . import flexible
from .runs import EP, IMPLICIT, RV, RXYZ, SE3, TABLEAUS, explicit, implicit

TOP = 1.6e-3 / 2.0 ** np.arange(5)
ANGLES = 1e-4 / 2.0 ** np.arange(3)
JOINT = 3.2e-3 / 2.0 ** np.arange(5)
ITERATIONS = 8e-4 / 2.0 ** np.arange(6)
ROTOR = 1e-3 / 2.0 ** np.arange(6)
CRANK = 4e-3 / 2.0 ** np.arange(4)
ROBOT = 0.1 / 2.0 ** np.arange(8)
FLEXIBLE = {
    "beam pendulum": 8e-3 / 2.0 ** np.arange(5),
    "right-angle cantilever": 0.4 / 2.0 ** np.arange(5),
    "thrown ruler": 8e-3 / 2.0 ** np.arange(5),
}
"""Steps in s. Those of the paper go on where ours end: their runs would take hours here."""


def table(title, columns, steps):
    """Print columns of runs, functions of the step, and return them; the steps of all follow one another."""
    found = {name: [] for name in columns}
    for h in steps:
        for name, run in columns.items():
            found[name].append(run(h))
    print(f"\n{title}\n{'h (s)':>10}" + "".join(f"{name:>29}" for name in columns))
    print(f"{'':10}" + f"{'error':>12}{'iter.':>8}{'CPU s':>9}" * len(columns))
    for k, h in enumerate(steps):
        runs = (those[k] for those in found.values())
        cells = (f"{run.error:12.2e}{run.iterations:8.2f}{run.seconds:9.2f}" for run in runs)
        print(f"{h:10.3g}" + "".join(cells), flush=True)
    return found


def of(benchmark, *formulations, **options):
    """Columns of a table: one formulation each."""
    return {name: partial(implicit, benchmark, name, **options) for name in formulations}


def by_tableau(benchmark, formulation, tableaus=TABLEAUS):
    """Columns of a table: one explicit method each."""
    return {
        f"{formulation} {name}": lambda h, name=name: explicit(benchmark, formulation, name, h) for name in tableaus
    }


def free_top():
    """Figs. 3 to 5, Table 4; explicit methods over 0.1 s, as short steps in angles take their time."""
    short, tilted = "free top, 0.1 s", "free top, tilted, 0.1 s"
    implicit_tilted = {"Rxyz, tilted": of("free top, tilted", RXYZ)[RXYZ]}
    return {
        "implicit": table("free top, 1 s: generalised-alpha", of("free top", *IMPLICIT) | implicit_tilted, TOP),
        "RV": table("free top, 0.1 s: explicit", by_tableau(short, RV), TOP),
        "Rxyz": table("free top, 0.1 s: explicit", by_tableau(short, RXYZ), ANGLES),
        "tilted": table("tilted free top, 0.1 s: explicit", by_tableau(tilted, RXYZ), TOP[:4]),
    }


def jointed_top():
    """Figs. 6 to 8, Table 5; the paper's matrix leaves out derivatives of inertia forces and of reactions."""
    short, tilted = "top on joint, 0.1 s", {"Rxyz, tilted": of("top on joint, tilted", RXYZ)[RXYZ]}
    matrices = {"with T": "exact", "without T": "without_tangent_operator", "the paper's": "applied_forces"}
    kinds = {
        f"{'modified' if modified else 'full'}, {name}": partial(implicit, short, RV, modified=modified, matrix=matrix)
        for modified in (False, True)
        for name, matrix in matrices.items()
    }
    rough = {"matrix": "applied_forces"}
    return {
        "full": table("top on joint, 1 s: full Newton", of("top on joint", *IMPLICIT, SE3) | tilted, JOINT),
        "modified": table("top on joint, 1 s: modified Newton", of("top on joint", *IMPLICIT, modified=True), JOINT),
        "paper": table("top on joint, 1 s: the paper's matrix", of("top on joint", RV, EP, **rough), JOINT),
        "T": table("top on joint, 0.1 s, RV: iteration matrices", kinds, ITERATIONS),
    }


def rotor():
    """Figs. 11 to 13, Table 7."""
    return {
        "implicit": table("rotor, 0.25 s: generalised-alpha", of("rotor", *IMPLICIT, SE3), ROTOR),
        "RV": table("rotor, 0.25 s: explicit", by_tableau("rotor", RV), ROTOR[1:5]),
        "Rxyz": table("rotor, 0.25 s: explicit", by_tableau("rotor", RXYZ), ROTOR[1:5]),
    }


def crank():
    """Figs. 16, 17."""
    return {"implicit": table("slider-crank, 5 s", of("slider-crank", *IMPLICIT, SE3), CRANK)}


def robot():
    """Figs. 20, 21."""
    return {
        "at rest": table("Puma at 1 s", of("Puma", *IMPLICIT, "minimal"), ROBOT),
        "in motion": table("Puma at 0.5 s", of("Puma, 0.5 s", *IMPLICIT, SE3, "minimal"), ROBOT[1:]),
    }


def formulations():
    """What the paper leaves open: SE(3), and flexible systems."""
    return {
        name: table(f"{name}, {t_end:g} s", of(name, *IMPLICIT, SE3), FLEXIBLE[name])
        for name, (_, t_end, _) in flexible.BUILD.items()
    }


PARTS = {
    "free_top": free_top,
    "top_on_joint": jointed_top,
    "rotor": rotor,
    "slider_crank": crank,
    "puma": robot,
    "flexible": formulations,
}
