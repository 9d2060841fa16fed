"""What a user describes, and the contracts that elements and constraints fulfil."""

from fem_mbs.model.constraint import Constraint, ConstraintBatch, Coordinate, Rates
from fem_mbs.model.element import Element, ElementBatch, Energy
from fem_mbs.model.model import Model, extent, idle_rotations
from fem_mbs.model.motion import Follow, Motion
from fem_mbs.model.node import Node, check_node, make_node
from fem_mbs.model.numbering import Numbering, consecutive, node_rows, own_rows
from fem_mbs.model.picture import Cells, Kind, Picture, Polyline
from fem_mbs.model.unknown import Unknown
from fem_mbs.model.validate import (
    direction,
    instance,
    is_symmetric,
    number,
    one_of,
    real,
    rotation_matrix,
    shown,
    truth,
    vector,
    whole_number,
)

__all__ = [
    "Cells",
    "Constraint",
    "ConstraintBatch",
    "Coordinate",
    "Element",
    "ElementBatch",
    "Energy",
    "Follow",
    "Kind",
    "Model",
    "Motion",
    "Node",
    "Numbering",
    "Picture",
    "Polyline",
    "Rates",
    "Unknown",
    "check_node",
    "consecutive",
    "direction",
    "extent",
    "idle_rotations",
    "instance",
    "is_symmetric",
    "make_node",
    "node_rows",
    "number",
    "one_of",
    "own_rows",
    "real",
    "rotation_matrix",
    "shown",
    "truth",
    "vector",
    "whole_number",
]
