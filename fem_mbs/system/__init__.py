"""The frozen model as arrays: assembly of residual, tangent, constraints and mass."""
