"""Published benchmarks, written once: models, references, and the cases that hold one to the other.

A function builds a model whose parts have names, by which solutions are asked: ``solution.position("top")``. What the
model should do stands beside it: tabulated values, or equations in few coordinates that share nothing with the library.
"""
