"""What bodies and joints look like: solids, and surfaces of meshes."""

from fem_mbs.elements.shapes.solids import Ball, Box, Cylinder, Ellipsoid, Surface, inertia_ellipsoid

__all__ = ["Ball", "Box", "Cylinder", "Ellipsoid", "Surface", "inertia_ellipsoid"]
