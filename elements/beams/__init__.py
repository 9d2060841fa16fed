"""Geometrically exact beams, their sections, meshes and loads per length; bars."""
