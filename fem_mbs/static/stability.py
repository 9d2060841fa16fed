"""Whether an equilibrium is stable, from the signs of the pivots of its stiffness.

Sylvester's law of inertia; docs/statics.md, "The method".
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from fem_mbs.static.equations import Equations, Point
from fem_mbs.system import tangent

UNSYMMETRIC = 1e-3
"""Unsymmetric part of the stiffness, against the largest force per rad, from which loads follow."""
UNSYMMETRIC_ROUNDING = 1e-12
"""The same against the largest stiffness."""
PENALTY = 1e2
"""Stiffness of the constraints against the largest of the model: of no weight for the motions that they allow."""
NEUTRAL = 1e-13
"""Stiffness, against the largest, that tells motions without any from unstable ones; rounding makes 1e-14 of it."""
UNKNOWN = -1


def unstable_motions(equations: Equations, point: Point) -> int:
    """Number of independent motions along which the energy falls; -1 where there is none, as with loads that follow.

    By Sylvester's law of inertia that is the number of negative pivots of ``K + penalty B^T B``.
    """
    system, evaluation = equations.system, equations.evaluate(point)
    if (system.order == 1).any():  # rest of a state does not follow from an energy
        return UNKNOWN
    n = system.n_free
    units = diags_array(1.0 / system.weight[system.free_rows])
    matrix = system.solver.matrix(tangent.assemble(system, equations.entries(evaluation, equations.force_factor)))
    K, B = matrix[:n, :n] @ units, matrix[n:, :n] @ units
    scale = np.append(np.tile(np.repeat(evaluation.scale, 3), system.n), evaluation.own_scale)
    forces = (scale * equations.force_factor)[system.free_rows]
    K = units @ K
    largest = abs(K).max()
    if not np.isfinite(largest):
        return UNKNOWN
    if largest == 0.0:
        return 0
    if (
        abs(K - K.T).max(axis=1).toarray().ravel() > UNSYMMETRIC * units @ forces + UNSYMMETRIC_ROUNDING * largest
    ).any():
        return UNKNOWN
    stiff = 0.5 * (K + K.T) + PENALTY * largest * (B.T @ B) + NEUTRAL * largest * eye_array(n)
    options = {"SymmetricMode": True}
    try:
        lu = splu(csc_array(stiff), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    except RuntimeError:  # exactly singular
        return UNKNOWN
    return UNKNOWN if (lu.perm_r != lu.perm_c).any() else int((lu.U.diagonal() < 0.0).sum())
