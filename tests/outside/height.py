"""A sensor from outside: how high a node is."""

import numpy as np

from fem_mbs.contracts import Sensor, SensorBatch


class Height(Sensor):
    """How far a node is above a place of the world, along a direction, m."""

    def __init__(self, node, place=(0, 0, 0), up=(0, 0, 1)):
        self.nodes, self.place, self.up = (node,), np.array(place, float), np.array(up, float)

    @classmethod
    def batch(cls, elements, number):
        return HeightBatch(elements, number)


class HeightBatch(SensorBatch):
    def __init__(self, sensors, number):
        super().__init__(sensors, number)
        self.place = np.array([sensor.place for sensor in sensors]) - number.origin
        self.up = np.array([sensor.up for sensor in sensors])

    def measure(self, motion, prescribed):
        rows = self.nodes[:, 0]
        return np.vecdot(self.up, motion.x[rows] - self.place), motion.R[rows]

    def by_place(self, R):
        up = np.vecmat(self.up, R)
        return np.concatenate([up, np.zeros_like(up)], axis=1)
