"""What a user describes, and the contracts that elements and constraints fulfil."""

from fem_mbs.model.constraint import Constraint, ConstraintBatch
from fem_mbs.model.element import Element, ElementBatch, Energy, Numbering, node_rows
from fem_mbs.model.model import Model, extent
from fem_mbs.model.motion import Motion
from fem_mbs.model.node import Node, direction, number, rotation_matrix, vector

__all__ = [
    "Constraint",
    "ConstraintBatch",
    "Element",
    "ElementBatch",
    "Energy",
    "Model",
    "Motion",
    "Node",
    "Numbering",
    "direction",
    "extent",
    "node_rows",
    "number",
    "rotation_matrix",
    "vector",
]
