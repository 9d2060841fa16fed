"""What a state has to forget of the step it was made with before the next step is longer or shorter."""

from __future__ import annotations

from dataclasses import replace

from fem_mbs.arrays import Array
from fem_mbs.integrate.generalized_alpha import GeneralizedAlpha
from fem_mbs.integrate.index3 import Trial
from fem_mbs.integrate.local_error import local_error
from fem_mbs.solve import Report, constraint_correction
from fem_mbs.system import State, System


def change_step(
    system: System, state: State, ratio: float, method: GeneralizedAlpha, defect: Array, report: Report[Trial]
) -> State:
    """State for a step that is ``ratio`` times the one that led to it and that had this defect and report.

    Two parts of a state depend on the step ``h`` to leading order. ``a`` stands for ``vdot(t + Delta_alpha h)``, so its
    distance from ``vdot`` grows with ``h``. And the velocity has a part that grows with ``h^2``: what joints and
    stiffness take away from the defect of each step, the velocity has to make up for, so that the configuration obeys
    them at the end of the step. For joints this is ``B v + Phi_t = O(h^2)`` of the index-3 method. A method that goes
    on without these changes has an error of first order in the multipliers, as after a start with ``a_0 = vdot_0`` and
    ``B v_0 = 0`` (Arnold, Cardona, Bruels 2015, eqs. 141, 142), and sets off the oscillations of stiff parts.
    """
    w = (defect - local_error(system, state, defect, method, report)) / report.problem.h
    if method.formulation == "index2" and system.m:
        w -= constraint_correction(system, state, w)
    return replace(state, a=state.vdot + ratio * (state.a - state.vdot), v=state.v + (ratio**2 - 1.0) * w)
