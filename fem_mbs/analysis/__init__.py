"""What many runs tell: errors and orders of a method by experiment, constants of its theory, parameter studies."""

from fem_mbs.analysis.amplification import amplification_matrix, error_constants, power_norms
from fem_mbs.analysis.convergence import ConvergenceStudy, convergence_study, fitted_order
from fem_mbs.analysis.sweep import sweep

__all__ = [
    "ConvergenceStudy",
    "amplification_matrix",
    "convergence_study",
    "error_constants",
    "fitted_order",
    "power_norms",
    "sweep",
]
