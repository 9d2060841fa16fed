"""Rigid bodies, and bodies with modal amplitudes."""
