"""The problems in fem_mbs. Timed is ``simulate``: freezing the model, the consistent start and all steps."""

from __future__ import annotations

from time import process_time

from measure import Result, serve
from problems import CRANK_RATE, CRANK_START, GRAVITY, Bar, Problem, hinge_axis, problem, push

import fem_mbs as mbs
from fem_mbs.elements import Beam, BeamSection, Force, RevoluteJoint, SpinUp


def section(bar: Bar) -> BeamSection:
    EA, GA_y, GA_z, GJ, EI_y, EI_z = bar.stiffness
    return BeamSection(EA, (GA_y, GA_z), GJ, (EI_y, EI_z), bar.mass, bar.inertia)


def cantilever(p: Problem) -> tuple[mbs.Model, mbs.Node]:
    model = mbs.Model()
    leg, arm = p.bars
    first = Beam.line(model, leg.start, leg.end, section(leg), p.elements)
    elbow = first.nodes[-1]
    second = Beam.line(model, arm.start, arm.end, section(arm), p.elements, start_node=elbow)
    model.fix(first.nodes[0])
    model.add(Force(elbow, lambda t: (0.0, 0.0, push(t))))
    return model, second.nodes[-1]


def four_bar(p: Problem) -> tuple[mbs.Model, mbs.Node]:
    model, z = mbs.Model(), (0, 0, 1)
    crank, coupler, rocker = (Beam.line(model, b.start, b.end, section(b), p.elements).nodes for b in p.bars)
    model.add(RevoluteJoint(model.ground, crank[0], z, drive=SpinUp(CRANK_RATE, CRANK_START)))
    model.add(RevoluteJoint(crank[-1], coupler[0], z))
    model.add(RevoluteJoint(coupler[-1], rocker[0], hinge_axis()))
    model.add(RevoluteJoint(rocker[-1], model.ground, z, point=p.bars[-1].end))
    return model, rocker[0]


def swinging_beam(p: Problem) -> tuple[mbs.Model, mbs.Node]:
    model = mbs.Model(gravity=(0, 0, -GRAVITY))
    (bar,) = p.bars
    nodes = Beam.line(model, bar.start, bar.end, section(bar), p.elements).nodes
    model.fix(nodes[0])
    return model, nodes[-1]


BUILD = {"cantilever": cantilever, "four_bar": four_bar, "swinging_beam": swinging_beam}


def run(kind: str, elements: int | None = None) -> Result:
    """One run: its wall time, counts, and the displacement of one node at the end."""
    p = problem(kind, elements)
    model, watched = BUILD[kind](p)
    method = mbs.GeneralizedAlpha.hht(alpha=0.05) if kind == "cantilever" else mbs.GeneralizedAlpha(p.rho_inf)
    begun = process_time()
    try:
        solution = mbs.simulate(model, p.step * p.steps, p.step, method)
    except mbs.FemMbsError as error:
        return {"ok": False, "message": str(error)}
    iterations = int(solution.stats.newton_iterations.sum())
    return {
        "ok": True,
        "seconds": solution.stats.wall_time,
        "cpu_a_step": (process_time() - begun) / p.steps,
        "steps": p.steps,
        "iterations": iterations,
        "matrices": solution.stats.factorizations,
        "seconds_per_iteration": solution.stats.wall_time / iterations,
        "displacement": solution.displacement(watched)[-1].tolist(),
    }


if __name__ == "__main__":
    serve(run)
