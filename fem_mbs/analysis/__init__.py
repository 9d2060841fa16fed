"""What can be said of a method: errors and orders by experiment, constants of its theory."""

from fem_mbs.analysis.amplification import amplification_matrix, error_constants, power_norms
from fem_mbs.analysis.convergence import ConvergenceStudy, convergence_study, fitted_order

__all__ = [
    "ConvergenceStudy",
    "amplification_matrix",
    "convergence_study",
    "error_constants",
    "fitted_order",
    "power_norms",
]
