"""Published benchmarks, as models of fem_mbs beside their references."""

from fem_mbs.validation import (
    buckling,
    composite,
    dynamics,
    equilibria,
    iftomm,
    locking,
    modal,
    rotating,
)
from fem_mbs.validation.case import CASES, Case, Quantity

__all__ = [
    "CASES",
    "Case",
    "Quantity",
    "buckling",
    "composite",
    "dynamics",
    "equilibria",
    "iftomm",
    "locking",
    "modal",
    "rotating",
]
