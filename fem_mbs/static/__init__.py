"""Equilibria: paths of them under growing loads, and the loads at which they buckle."""

from fem_mbs.static.buckling import Buckling, buckling
from fem_mbs.static.result import StaticSolution
from fem_mbs.static.statics import statics

__all__ = ["Buckling", "StaticSolution", "buckling", "statics"]
