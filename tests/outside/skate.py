"""A joint from outside: a node does not move along its own y axis."""

import numpy as np

from fem_mbs.contracts import Constraint, ConstraintBatch, node_rows


class Skate(Constraint):
    """A blade: its equation is one of velocities."""

    equations = ("slip",)

    def __init__(self, node):
        self.nodes = (node,)

    @classmethod
    def batch(cls, constraints, number):
        return SkateBatch(constraints, number)


class SkateBatch(ConstraintBatch):
    def __init__(self, skates, number):
        self.owners, self.nodes, self.cell = skates, node_rows(skates, number), np.arange(len(skates))
        self.length = self.velocity = np.ones(len(skates), dtype=bool)

    def evaluate(self, motion, prescribed):
        return np.zeros(len(self.cell)), np.tile([0.0, 1, 0, 0, 0, 0], (len(self.cell), 1)), None

    def second(self, context):
        return np.zeros((len(self.cell), 6, 6))
