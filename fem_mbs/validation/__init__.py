"""Published benchmarks, as models of fem_mbs beside their references."""

from fem_mbs.validation import buckling, dynamics, equilibria, locking, modal
from fem_mbs.validation.case import CASES, Case, Quantity

__all__ = ["CASES", "Case", "Quantity", "buckling", "dynamics", "equilibria", "locking", "modal"]
