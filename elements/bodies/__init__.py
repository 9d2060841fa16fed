"""Rigid bodies, bodies with modal amplitudes, and gravity."""
