"""What a user describes, and the contracts that elements and constraints fulfil."""

from fem_mbs.model.constraint import Constraint, ConstraintBatch
from fem_mbs.model.element import Element, ElementBatch, Energy
from fem_mbs.model.model import Model, extent
from fem_mbs.model.motion import Motion
from fem_mbs.model.node import Node, Numbering, check_node, make_node, node_rows
from fem_mbs.model.validate import direction, instance, is_symmetric, number, real, rotation_matrix, shown, vector

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
    "check_node",
    "direction",
    "extent",
    "instance",
    "is_symmetric",
    "make_node",
    "node_rows",
    "number",
    "real",
    "rotation_matrix",
    "shown",
    "vector",
]
