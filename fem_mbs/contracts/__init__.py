"""What authors of elements, constraints, laws, sensors, blocks and methods implement, and all that they import.

Each class says in its docstring what to define, with shapes and frames; what has a default is optional. Nothing is
found out by looking for attributes: what an object offers is what its class derives from.

==================  ==============================================  ====================================================
an author of        derives from                                    and may offer
==================  ==============================================  ====================================================
an element          :class:`Element`, whose cells compute in an     ``internal_variables``, ``picture``, ``shapes``,
``doubts``,
                    :class:`ElementBatch`                           ``center_of_mass``, ``offset``; by
                                                                    :class:`SectionForces` what sections bear, by
                                                                    :class:`SignalSource` signals
a joint             :class:`Constraint` and                         ``internal_variables``, ``picture``, ``shapes``,
``axes``,
                    :class:`ConstraintBatch`                        ``offsets``; a :class:`CoordinateBatch` for each of
                                                                    its ``coordinates``
a sensor            :class:`Sensor` and :class:`SensorBatch`        more than one output: ``outputs``
a block             :class:`ControlElement` and an                  ``inputs`` as arrays: :class:`Wires`
                    :class:`ElementBatch`
a law of time       :class:`TimeLaw`; any function of t will do     ``jumps``; a function :class:`Differentiable`,
                                                                    :class:`Jumping`
a force law         a function                                      exact derivatives: :class:`ByLength`,
                                                                    :class:`BySpeed`, :class:`ByCoordinate`,
                                                                    :class:`ByRate`, :class:`ByVelocity`
an event            a function of a :class:`State`, or              ``terminal``, ``direction``, ``optional``
                    :class:`Event`
a method            :class:`Method`, with a memory                  an estimate of its error, ``between``, ``limit``,
                                                                    ``levels``, ``advice``, ``doubt``
a shape             :class:`Shape`
==================  ==============================================  ====================================================

Arguments are checked by their annotations (:func:`checked`); a class so checked keeps its ``constructor_arguments``, so
that a file can hold its objects (docs/store.md). :mod:`fem_mbs.testing` holds each of these to its laws.
"""

from fem_mbs.contracts.arguments import (
    Direction,
    Flags,
    Index,
    Name,
    NotNegative,
    Path,
    Positive,
    PositiveInt,
    RotationLike,
    Seconds,
    UnitInterval,
    Vector3,
    choice,
    shaped,
)
from fem_mbs.contracts.changes import as_frozen, changed_since, freezes
from fem_mbs.contracts.checked import checked, hints_of
from fem_mbs.contracts.constraint import (
    Constraint,
    ConstraintBatch,
    Coordinate,
    CoordinateBatch,
    GeometricStiffnessBlocks,
    Measured,
    Rates,
    StepEnd,
    continued,
)
from fem_mbs.contracts.element import Element, ElementBatch, Energy, ModelContext, SectionForces
from fem_mbs.contracts.event import Event, EventFunction, EventLike
from fem_mbs.contracts.functions import (
    OPTIONAL,
    ByCoordinate,
    ByLength,
    ByRate,
    BySpeed,
    ByVelocity,
    Differentiable,
    Jumping,
    derivatives,
    evaluate,
    next_jump,
)
from fem_mbs.contracts.internal_variable import InternalVariable, check_internal_variables
from fem_mbs.contracts.method import (
    FrozenModel,
    Limit,
    Method,
    Nothing,
    Report,
    Step,
    StepErrorEstimate,
    check_step,
    unconstrained,
)
from fem_mbs.contracts.motion import ARRAYS, Motion, RateSensitivities, Source, State, none
from fem_mbs.contracts.named import ElementOrName, JointOrName, NodeLike, NodeOrName, Part, of_kind
from fem_mbs.contracts.names import PartNames, look_up, make
from fem_mbs.contracts.node import Group, Node, check_node, lever, make_node
from fem_mbs.contracts.numbering import Numbering, consecutive, node_rows, own_rows
from fem_mbs.contracts.picture import Cells, Faces, Kind, Picture, Placed, Polyline, Shape
from fem_mbs.contracts.public import (
    ConstructorArguments,
    Public,
    attributes_of,
    called,
    complete,
    former,
    instance,
    public,
)
from fem_mbs.contracts.sensor import SENSOR_VALUE, Sensor, SensorBatch
from fem_mbs.contracts.signal import (
    Combines,
    ControlElement,
    Input,
    Inputs,
    Signal,
    SignalSource,
    Wires,
    signal,
    signals,
    sources,
)
from fem_mbs.contracts.time_law import Constant, Delayed, Product, Sum, TimeLaw, Vector
from fem_mbs.contracts.validate import (
    LARGEST,
    SMALLEST,
    array,
    direction,
    function,
    is_of,
    is_rotation,
    is_symmetric,
    name_of,
    named_file,
    number,
    one_of,
    path,
    real,
    rotation_matrix,
    shown,
    text,
    truth,
    vector,
    whole_number,
)
from fem_mbs.lie import se3, so3

__all__ = [
    "ARRAYS",
    "ByCoordinate",
    "ByLength",
    "ByRate",
    "BySpeed",
    "ByVelocity",
    "Cells",
    "Combines",
    "Constant",
    "Constraint",
    "ConstraintBatch",
    "ConstructorArguments",
    "ControlElement",
    "Coordinate",
    "CoordinateBatch",
    "Delayed",
    "Differentiable",
    "Direction",
    "Element",
    "ElementBatch",
    "ElementOrName",
    "Energy",
    "Event",
    "EventFunction",
    "EventLike",
    "Faces",
    "Flags",
    "FrozenModel",
    "GeometricStiffnessBlocks",
    "Group",
    "Index",
    "Input",
    "Inputs",
    "JointOrName",
    "Jumping",
    "Kind",
    "LARGEST",
    "Limit",
    "Measured",
    "Method",
    "ModelContext",
    "Motion",
    "Name",
    "Node",
    "NodeLike",
    "NodeOrName",
    "NotNegative",
    "Nothing",
    "Numbering",
    "OPTIONAL",
    "Part",
    "PartNames",
    "Path",
    "Picture",
    "Placed",
    "Polyline",
    "Positive",
    "PositiveInt",
    "Product",
    "Public",
    "RateSensitivities",
    "Rates",
    "Report",
    "RotationLike",
    "SENSOR_VALUE",
    "SMALLEST",
    "Seconds",
    "SectionForces",
    "Sensor",
    "SensorBatch",
    "Shape",
    "Signal",
    "SignalSource",
    "Source",
    "State",
    "Step",
    "StepEnd",
    "StepErrorEstimate",
    "Sum",
    "TimeLaw",
    "UnitInterval",
    "InternalVariable",
    "Vector",
    "Vector3",
    "Wires",
    "array",
    "as_frozen",
    "attributes_of",
    "called",
    "changed_since",
    "check_node",
    "check_step",
    "check_internal_variables",
    "checked",
    "choice",
    "complete",
    "consecutive",
    "continued",
    "derivatives",
    "direction",
    "evaluate",
    "former",
    "freezes",
    "function",
    "hints_of",
    "instance",
    "is_of",
    "is_rotation",
    "is_symmetric",
    "lever",
    "look_up",
    "make",
    "make_node",
    "name_of",
    "named_file",
    "next_jump",
    "node_rows",
    "none",
    "number",
    "of_kind",
    "one_of",
    "own_rows",
    "path",
    "public",
    "real",
    "rotation_matrix",
    "se3",
    "shaped",
    "shown",
    "signal",
    "signals",
    "so3",
    "sources",
    "text",
    "truth",
    "unconstrained",
    "vector",
    "whole_number",
]

__getattr__ = former(globals())
