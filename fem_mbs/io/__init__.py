"""Files in and out."""

from fem_mbs.io.paraview import write_paraview

__all__ = ["write_paraview"]
