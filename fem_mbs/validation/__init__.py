"""Published benchmarks, as models of fem_mbs beside their references."""

from fem_mbs.validation import (
    bodies,
    buckling,
    composite,
    dynamics,
    equilibria,
    forces,
    governor,
    iftomm,
    jeffcott,
    locking,
    modal,
    moving_load,
    rotating,
    rotors,
    slider_crank,
    squeezer,
)
from fem_mbs.validation.case import CASES, Case, Quantity

__all__ = [
    "CASES",
    "Case",
    "Quantity",
    "bodies",
    "buckling",
    "composite",
    "dynamics",
    "equilibria",
    "forces",
    "governor",
    "iftomm",
    "jeffcott",
    "locking",
    "modal",
    "moving_load",
    "rotating",
    "rotors",
    "slider_crank",
    "squeezer",
]
