"""Small motions about a state: linear equations, natural frequencies and mode shapes."""

from fem_mbs.modal.linearize import LinearModel, linearize
from fem_mbs.modal.modes import modes
from fem_mbs.modal.result import Modes

__all__ = ["LinearModel", "Modes", "linearize", "modes"]
