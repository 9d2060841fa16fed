"""CPU time of a step of small mechanisms of rigid bodies, beside the peer in its fastest settings that work.

``OPENBLAS_NUM_THREADS=1 python tests/performance/small_mechanisms.py`` needs Exudyn (``pip install exudyn``) and
runs both programs in turns: the heavy top on its ball joint and chains of ten and of a thousand bodies on hinges, steps
of 1 ms, default formulation here, generalised-alpha with rho = 0.9 and full or modified Newton there. What a run costs
beside its steps falls out of the difference of a long and a short one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import median

import numpy as np
from measure import describe
from steps import chain, top

if "fast" in sys.argv:
    sys.exudynFast = True  # type: ignore[attr-defined]
import exudyn as exu
from exudyn.utilities import RigidBodyInertia

import fem_mbs as mbs

exu.config.printToConsole = False
STEP, GRAVITY = 1e-3, [0, 0, -9.81]
KINDS = (exu.NodeType.RotationEulerParameters, exu.NodeType.RotationRotationVector)
LINKS = {"heavy top": 0, "chain of 10 bodies": 10, "chain of 1000 bodies": 1000}


def theirs(links: int, kind: exu.NodeType, modified: bool, sparse: bool, steps: int) -> Callable[[], np.ndarray]:
    """A run of the heavy top, or of a chain, that is ready to start; it returns where the last body ends."""
    system = exu.SystemContainer().AddSystem()
    last = system.CreateGround()
    if not links:
        Omega, inertia = [0, 150, -4.61538], RigidBodyInertia(15, np.diag([0.234375, 0.46875, 0.234375]))
        motion = {"initialVelocity": [4.61538, 0, 0], "initialAngularVelocity": Omega}
        body = system.CreateRigidBody(
            inertia=inertia, nodeType=kind, referencePosition=[0, 1, 0], gravity=GRAVITY, **motion
        )
        system.CreateSphericalJoint(bodyNumbers=[last, body], position=[0, 0, 0])
    for k in range(links):
        inertia = RigidBodyInertia(1.0, np.diag([0.1] * 3))
        body = system.CreateRigidBody(
            inertia=inertia, nodeType=kind, referencePosition=[k + 0.5, 0, 0], gravity=GRAVITY
        )
        system.CreateRevoluteJoint(bodyNumbers=[last, body], position=[k, 0, 0], axis=[0, 1, 0])
        last = body
    system.Assemble()
    options = exu.SimulationSettings()
    time_options = options.timeIntegration
    time_options.numberOfSteps, time_options.endTime = steps, steps * STEP
    time_options.generalizedAlpha.spectralRadius = 0.9
    time_options.newton.useModifiedNewton = modified
    options.solutionSettings.writeSolutionToFile = False
    options.linearSolverType = exu.LinearSolverType.EigenSparse if sparse else exu.LinearSolverType.EXUdense

    def run() -> np.ndarray:
        system.SolveDynamic(options)
        return np.array(system.GetObjectOutputBody(body, exu.OutputVariableType.Position, [0, 0, 0]))

    return run


def ours(links: int, steps: int) -> Callable[[], np.ndarray]:
    """The same here; the model is frozen in the run."""
    model = chain(links) if links else top()
    return lambda: mbs.simulate(model, steps * STEP, STEP, mbs.GeneralizedAlpha(0.9), times=[0, steps * STEP]).x[-1, -1]


def timed(run: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """CPU time in s, and what the run returns."""
    begun = time.process_time()
    place = run()
    return time.process_time() - begun, place


def main() -> None:
    """Print a row for each mechanism."""
    print(describe())
    for name, links in LINKS.items():
        few, many = (50, 450) if links < 100 else (5, 45)
        solvers = (False, True) if links < 100 else (True,)
        rounds: dict[object, list[float]] = {}
        for _ in range(5):
            made = {v: partial(theirs, links, *v) for v in product(KINDS, (False, True), solvers)} | {
                "ours": partial(ours, links)
            }
            ends = {}
            for who, make in made.items():
                try:
                    (first, _), (second, ends[who]) = timed(make(few)), timed(make(many))
                except Exception:  # its settings differ in what they can solve
                    continue
                if np.linalg.norm(ends[who] - ends.get("ours", ends[who])) < 0.05:
                    rounds.setdefault(who, []).append((second - first) / (many - few))
        steps = {str(who): median(times) for who, times in rounds.items() if len(times) == 5}
        mine = steps.pop("ours")
        best = min(steps, key=steps.__getitem__)
        print(f"{name}: {1e6 * mine:.0f} us, {1e6 * steps[best]:.1f} us ({best}), ratio {mine / steps[best]:.2g}")


if __name__ == "__main__":
    main()
