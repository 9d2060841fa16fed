"""Equilibria: paths of them under growing loads, the loads at which they buckle, and those in steady rotation."""

from fem_mbs.static.buckling import Buckling, buckling
from fem_mbs.static.result import StaticSolution
from fem_mbs.static.statics import statics
from fem_mbs.static.steady_rotation import steady_rotation

__all__ = ["Buckling", "StaticSolution", "buckling", "statics", "steady_rotation"]
