"""How far Newton's method has to go in a step: well below what the step itself gets wrong.

docs/theory.md, "When Newton's method stops".
"""

from __future__ import annotations

from fem_mbs.solve import Newton

FORCE_SHARE, CONSTRAINT_SHARE = 1e-5, 1e-3
"""Tolerances against a local error ``e``: of forces, which err by ``e^(2/3)``, and of constraints."""
LEAST_FORCE, LEAST_CONSTRAINT = 1e-12, 1e-15
"""Below these there is rounding."""


def tolerances(newton: Newton, error: float) -> tuple[float, float]:
    """Tolerances of forces and constraints of a step whose local error will be about ``error``, 0 if unknown."""
    force, constraint = FORCE_SHARE * error ** (2.0 / 3.0), CONSTRAINT_SHARE * error
    return (
        min(newton.force_tolerance, max(force, LEAST_FORCE)),
        min(newton.constraint_tolerance, max(constraint, LEAST_CONSTRAINT)),
    )
