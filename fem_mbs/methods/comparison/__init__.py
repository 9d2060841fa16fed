"""Methods to compare with: Euler's forms on the group, and classical parametrisations."""
