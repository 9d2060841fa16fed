"""The problems in a compiled peer, Exudyn (``pip install exudyn``), through its public interface.

Timed is its ``SolveDynamic`` alone, without output to files. The argument ``fast`` selects its build without range
checks. Variants are named ``nodes newton solver``: nodes with rotation vectors on the Lie group and the default
kinematic relations (LG) or the simplified ones (BC), or with Euler parameters (EP); full or modified Newton; dense or
sparse matrices. Its nodes carry the section frame, so that bars which meet at a corner need a joint.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from typing import Any

import numpy as np
from measure import Result, serve
from problems import GRAVITY, Bar, Problem, crank_angle, hinge_axis, problem, push

if "fast" in sys.argv:
    sys.exudynFast = True  # type: ignore[attr-defined]
import exudyn as exu
import exudyn.itemInterface as items  # noqa: N813
from exudyn.rigidBodyUtilities import RotationMatrix2EulerParameters

exu.config.printToConsole = False


def frame(bar: Bar) -> np.ndarray:
    """Section frame of a bar as columns, x along the bar."""
    x = np.subtract(bar.end, bar.start) / np.linalg.norm(np.subtract(bar.end, bar.start))
    return np.stack([x, np.cross([0, 0, 1], x), [0, 0, 1]], axis=1)


class Builder:
    """A model under way."""

    def __init__(self, nodes: str) -> None:
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self.nodes = nodes
        self.ground = self.mbs.AddObject(items.ObjectGround())

    def bar(self, bar: Bar, elements: int) -> list[int]:
        """Nodes of a bar from start to end."""
        R = frame(bar)
        angle = float(np.arctan2(R[1, 0], R[0, 0]))
        kind, rotation = (
            (items.NodeRigidBodyEP, list(RotationMatrix2EulerParameters(R)))
            if self.nodes == "EP"
            else (items.NodeRigidBodyRotVecLG, [0.0, 0.0, angle])
        )
        places = np.linspace(bar.start, bar.end, elements + 1)
        numbers = [self.mbs.AddNode(kind(referenceCoordinates=[*place, *rotation])) for place in places]
        section = exu.BeamSection()
        section.stiffnessMatrix = np.diag(bar.stiffness)
        section.inertia, section.massPerLength = np.diag(bar.inertia), bar.mass
        length = float(np.linalg.norm(np.subtract(bar.end, bar.start))) / elements
        for pair in pairwise(numbers):
            self.mbs.AddObject(
                items.ObjectBeamGeometricallyExact(nodeNumbers=list(pair), length=length, sectionData=section)
            )
        return numbers

    def on_node(self, node: int, bar: Bar, axes: Any = None) -> int:
        """Marker on a node of a bar, its axes given as world columns in the reference configuration."""
        rotation = frame(bar).T @ (np.eye(3) if axes is None else axes)
        return self.mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=node, localHT=exu.HT(rotation=rotation)))

    def on_ground(self, place: Any) -> int:
        """Marker on the ground."""
        return self.mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=self.ground, localPosition=list(place)))

    def weld(self, a: int, b: int, **options: Any) -> None:
        """All six relative motions closed."""
        self.mbs.AddObject(items.GenericJoint(markerNumbers=[a, b], constrainedAxes=[1] * 6, **options))

    def hinge(self, a: int, b: int) -> None:
        """A hinge about the third axis of the markers."""
        self.mbs.AddObject(items.RevoluteJointZ(markerNumbers=[a, b]))


def cantilever(p: Problem, model: Builder) -> int:
    leg, arm = p.bars
    first, second = model.bar(leg, p.elements), model.bar(arm, p.elements)
    model.weld(model.on_ground(leg.start), model.on_node(first[0], leg))
    elbow = model.on_node(first[-1], leg)
    model.weld(elbow, model.on_node(second[0], arm))
    law = lambda mbs, t, load: [0.0, 0.0, push(t)]  # noqa: E731
    model.mbs.AddLoad(items.Force(markerNumber=elbow, loadVector=[0, 0, 1], loadVectorUserFunction=law))
    return second[-1]


def four_bar(p: Problem, model: Builder) -> int:
    a, b, c = p.bars
    crank, coupler, rocker = (model.bar(bar, p.elements) for bar in p.bars)
    law = lambda mbs, t, item, offset: [0.0] * 5 + [crank_angle(t)]  # noqa: E731
    model.weld(model.on_ground(a.start), model.on_node(crank[0], a), offsetUserFunction=law)
    model.hinge(model.on_node(crank[-1], a), model.on_node(coupler[0], b))
    z = np.array(hinge_axis())
    tilted = np.stack([np.cross([0, 1, 0], z), [0, 1, 0], z], axis=1)
    model.hinge(model.on_node(coupler[-1], b, tilted), model.on_node(rocker[0], c, tilted))
    model.hinge(model.on_node(rocker[-1], c), model.on_ground(c.end))
    return rocker[0]


def swinging_beam(p: Problem, model: Builder) -> int:
    (bar,) = p.bars
    nodes = model.bar(bar, p.elements)
    markers = [model.mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=node)) for node in nodes]
    model.weld(model.on_ground(bar.start), markers[0])
    weight = bar.mass * GRAVITY * (bar.end[0] - bar.start[0]) / p.elements
    for marker in markers:
        share = 0.5 if marker in (markers[0], markers[-1]) else 1.0
        model.mbs.AddLoad(items.Force(markerNumber=marker, loadVector=[0, 0, -weight * share]))
    return nodes[-1]


BUILD = {"cantilever": cantilever, "four_bar": four_bar, "swinging_beam": swinging_beam}


def settings(p: Problem, nodes: str, newton: str, solver: str, tolerance: tuple[float, float]) -> Any:
    """Its settings for a variant; relative and absolute tolerance of its residual."""
    result = exu.SimulationSettings()
    time_integration, alpha = result.timeIntegration, result.timeIntegration.generalizedAlpha
    time_integration.numberOfSteps, time_integration.endTime = p.steps, p.step * p.steps
    time_integration.adaptiveStep = False
    alpha.spectralRadius = p.rho_inf
    alpha.lieGroupSimplifiedKinematicRelations = nodes == "BC"
    alpha.lieGroupAddTangentOperator = solver == "dense"  # refused with sparse matrices
    time_integration.newton.useModifiedNewton = newton == "modified"
    time_integration.newton.relativeTolerance, time_integration.newton.absoluteTolerance = tolerance
    kinds = exu.LinearSolverType
    result.linearSolver.solverType = kinds.EigenSparse if solver == "sparse" else kinds.EXUdense
    result.solution.file.write = result.solution.sensors.active = False
    return result


def run(kind: str, variant: str, tolerance: tuple[float, float] = (1e-6, 1e-6), elements: int | None = None) -> Result:
    """One run of a variant such as ``BC full dense``."""
    nodes, newton, solver = variant.split()
    p = problem(kind, elements)
    model = Builder(nodes)
    watched = BUILD[kind](p, model)
    model.mbs.Assemble()
    options = settings(p, nodes, newton, solver, tolerance)
    begun, cpu = time.perf_counter(), time.process_time()
    try:
        model.mbs.SolveDynamic(options, showHints=False)
    except Exception:  # whatever it raises where it does not converge
        pass
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    solver_state = model.mbs.sys["dynamicSolver"]
    if not solver_state.output.finishedSuccessfully:
        return {"ok": False, "message": f"stopped at t = {solver_state.it.currentTime:.3g} s"}
    iterations = int(solver_state.it.newtonStepsCount)
    return {
        "ok": True,
        "seconds": seconds,
        "cpu_a_step": cpu / p.steps,
        "steps": p.steps,
        "iterations": iterations,
        "matrices": int(solver_state.it.newtonJacobiCount),
        "seconds_per_iteration": seconds / iterations,
        "displacement": list(model.mbs.GetNodeOutput(watched, exu.OutputVariableType.Displacement)),
    }


if __name__ == "__main__":
    serve(run)
