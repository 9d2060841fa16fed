"""Models for other programs."""

from fem_mbs.exchange.co_simulation import CoSimulation
from fem_mbs.exchange.fmu import export_fmu

__all__ = ["CoSimulation", "export_fmu"]
