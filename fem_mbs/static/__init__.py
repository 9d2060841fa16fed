"""Equilibria: paths of them under growing loads, the loads at which they buckle, and those in steady rotation."""
