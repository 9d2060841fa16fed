"""Loads on nodes, springs and actuators between points, and forces along coordinates of joints."""
