"""An element from outside: a force that pulls a node to where it was built."""

import numpy as np

from fem_mbs.contracts import Element, ElementBatch, Energy, node_rows, so3


class Tether(Element):
    """Pulls a node back to a place in the world, like a spring; the place moves with nothing."""

    external = True

    def __init__(self, node, stiffness, place):
        self.nodes, self.stiffness, self.place = (node,), stiffness, np.array(place, dtype=float)

    @classmethod
    def batch(cls, elements, number):
        return TetherBatch(elements, number)


class TetherBatch(ElementBatch):
    def __init__(self, elements, number):
        self.owners, self.nodes = elements, node_rows(elements, number)
        self.k = np.array([own.stiffness for own in elements])
        self.place = np.array([own.place for own in elements]) - number.origin

    def force(self, motion, prescribed):
        R, stretch = motion.R[self.nodes[:, 0]], motion.x[self.nodes[:, 0]] - self.place
        pull = self.k[:, None] * np.vecmat(stretch, R)
        return np.concatenate([pull, np.zeros_like(pull)], axis=1), pull

    def stiffness(self, pull):
        K = np.zeros((len(pull), 6, 6))
        K[:, :3, :3] = self.k[:, None, None] * np.eye(3)
        K[:, :3, 3:] = so3.skew(pull)
        return K

    def energy(self, motion):
        return Energy(strain=0.5 * self.k * ((motion.x[self.nodes[:, 0]] - self.place) ** 2).sum(axis=1))
