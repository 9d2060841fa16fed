"""Derivatives of what is computed against numbers of the model, and what is done with them (docs/derivatives.md)."""
