"""Functions of time that jump, and say when."""

from __future__ import annotations

from math import inf


def next_jump(law: object, t: float) -> float:
    """The first time after ``t`` that the attribute ``jumps`` of a law lists; infinity without one."""
    return min((float(own) for own in getattr(law, "jumps", ()) if own > t), default=inf)
