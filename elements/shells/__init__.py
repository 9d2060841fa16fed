"""Geometrically exact shells: quadrilaterals of four ordinary nodes."""
