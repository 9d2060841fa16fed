"""Published benchmarks, as models of fem_mbs beside their references."""

from fem_mbs.validation import (
    beams,
    bodies,
    buckling,
    dynamics,
    equilibria,
    forces,
    governor,
    high_speed_rotor,
    iftomm,
    modal,
    puma,
    rotors,
    slider_crank,
    squeezer,
    tops,
)
from fem_mbs.validation.case import CASES, Case, Quantity

__all__ = [
    "CASES",
    "Case",
    "Quantity",
    "beams",
    "bodies",
    "buckling",
    "dynamics",
    "equilibria",
    "forces",
    "governor",
    "high_speed_rotor",
    "iftomm",
    "modal",
    "puma",
    "rotors",
    "slider_crank",
    "squeezer",
    "tops",
]
