"""Published benchmarks: runs of the models of :mod:`fem_mbs.benchmarks`, and their quantities beside references."""

from fem_mbs.validation import beams, buckling, dynamics, joints, machines, modes
from fem_mbs.validation.case import CASES, Case, Quantity

__all__ = ["CASES", "Case", "Quantity", "beams", "buckling", "dynamics", "joints", "machines", "modes"]
