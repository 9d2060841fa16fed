"""Published benchmarks, as models of fem_mbs beside their references."""

from fem_mbs.validation import dynamics, modal
from fem_mbs.validation.case import CASES, Case, Quantity

__all__ = ["CASES", "Case", "Quantity", "dynamics", "modal"]
