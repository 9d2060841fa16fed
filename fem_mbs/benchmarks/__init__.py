"""Published models, written once: what the validation suite, the tests and the examples run.

A function builds a model whose parts have names, by which solutions are asked: ``solution.position("top")``. What the
model should do stands beside it: tabulated values, or equations in few coordinates that share nothing with the library.
"""
