"""What authors of elements, constraints, laws, sensors, blocks and methods implement, and all that they import.

Each class says in its docstring what to define, with shapes and frames; what has a default is optional. Nothing is
found out by looking for attributes: what an object offers is what its class derives from. What the engine alone takes
is in the modules of this package.

==================  ==============================================  ====================================================
an author of        derives from                                    and may offer
==================  ==============================================  ====================================================
an element          :class:`Element`, whose cells compute in an     ``internal_variables``, ``picture``, ``shapes``,
                    :class:`ElementBatch`                           ``doubts``, ``center_of_mass``, ``offset``; by
                                                                    :class:`SectionForces` what sections bear, by
                                                                    :class:`SignalSource` signals
a joint             :class:`Constraint` and                         ``internal_variables``, ``picture``, ``shapes``,
                    :class:`ConstraintBatch`                        ``axes``, ``offsets``; a :class:`CoordinateBatch`
                                                                    for each of its ``coordinates``
a sensor            :class:`Sensor` and :class:`SensorBatch`        more than one output: ``outputs``
a block             :class:`ControlElement` and                     states and outputs as ``internal_variables``
                    :class:`WiredBatch`, with ``inputs`` as arrays
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

from fem_mbs.contracts.arguments import Direction as Direction
from fem_mbs.contracts.arguments import Name as Name
from fem_mbs.contracts.arguments import NotNegative as NotNegative
from fem_mbs.contracts.arguments import Path as Path
from fem_mbs.contracts.arguments import Positive as Positive
from fem_mbs.contracts.arguments import PositiveInt as PositiveInt
from fem_mbs.contracts.arguments import Seconds as Seconds
from fem_mbs.contracts.arguments import Vector3 as Vector3
from fem_mbs.contracts.arguments import array as array
from fem_mbs.contracts.arguments import choice as choice
from fem_mbs.contracts.arguments import direction as direction
from fem_mbs.contracts.arguments import function as function
from fem_mbs.contracts.arguments import named_file as named_file
from fem_mbs.contracts.arguments import number as number
from fem_mbs.contracts.arguments import real as real
from fem_mbs.contracts.arguments import real_or_complex as real_or_complex
from fem_mbs.contracts.arguments import shown as shown
from fem_mbs.contracts.arguments import vector as vector
from fem_mbs.contracts.arguments import whole_number as whole_number
from fem_mbs.contracts.checked import checked as checked
from fem_mbs.contracts.component import Batch as Batch
from fem_mbs.contracts.component import Component as Component
from fem_mbs.contracts.component import InternalVariable as InternalVariable
from fem_mbs.contracts.component import Numbering as Numbering
from fem_mbs.contracts.component import node_rows as node_rows
from fem_mbs.contracts.component import own_rows as own_rows
from fem_mbs.contracts.constraint import Constraint as Constraint
from fem_mbs.contracts.constraint import ConstraintBatch as ConstraintBatch
from fem_mbs.contracts.constraint import Coordinate as Coordinate
from fem_mbs.contracts.constraint import CoordinateBatch as CoordinateBatch
from fem_mbs.contracts.constraint import GeometricStiffnessBlocks as GeometricStiffnessBlocks
from fem_mbs.contracts.constraint import LawOfTime as LawOfTime
from fem_mbs.contracts.constraint import Measured as Measured
from fem_mbs.contracts.constraint import NodeLike as NodeLike
from fem_mbs.contracts.constraint import Rates as Rates
from fem_mbs.contracts.constraint import StepEnd as StepEnd
from fem_mbs.contracts.constraint import continued as continued
from fem_mbs.contracts.element import Element as Element
from fem_mbs.contracts.element import ElementBatch as ElementBatch
from fem_mbs.contracts.element import Energy as Energy
from fem_mbs.contracts.element import LoadBatch as LoadBatch
from fem_mbs.contracts.element import ModelContext as ModelContext
from fem_mbs.contracts.element import SectionForces as SectionForces
from fem_mbs.contracts.element import SmallChange as SmallChange
from fem_mbs.contracts.element import TimedBatch as TimedBatch
from fem_mbs.contracts.functions import ByCoordinate as ByCoordinate
from fem_mbs.contracts.functions import ByLength as ByLength
from fem_mbs.contracts.functions import ByRate as ByRate
from fem_mbs.contracts.functions import BySpeed as BySpeed
from fem_mbs.contracts.functions import ByVelocity as ByVelocity
from fem_mbs.contracts.functions import Differentiable as Differentiable
from fem_mbs.contracts.functions import GivenValues as GivenValues
from fem_mbs.contracts.functions import Jumping as Jumping
from fem_mbs.contracts.functions import answer as answer
from fem_mbs.contracts.functions import evaluate as evaluate
from fem_mbs.contracts.functions import returned as returned
from fem_mbs.contracts.method import Limit as Limit
from fem_mbs.contracts.method import Method as Method
from fem_mbs.contracts.method import Nothing as Nothing
from fem_mbs.contracts.method import Report as Report
from fem_mbs.contracts.method import Step as Step
from fem_mbs.contracts.method import StepErrorEstimate as StepErrorEstimate
from fem_mbs.contracts.method import remembered as remembered
from fem_mbs.contracts.method import unconstrained as unconstrained
from fem_mbs.contracts.motion import ARRAYS as ARRAYS
from fem_mbs.contracts.motion import Event as Event
from fem_mbs.contracts.motion import EventLike as EventLike
from fem_mbs.contracts.motion import Motion as Motion
from fem_mbs.contracts.motion import RateSensitivities as RateSensitivities
from fem_mbs.contracts.motion import Source as Source
from fem_mbs.contracts.motion import State as State
from fem_mbs.contracts.motion import none as none
from fem_mbs.contracts.node import Node as Node
from fem_mbs.contracts.node import check_node as check_node
from fem_mbs.contracts.node import lever as lever
from fem_mbs.contracts.node import move_node as move_node
from fem_mbs.contracts.node import poses as poses
from fem_mbs.contracts.picture import Cells as Cells
from fem_mbs.contracts.picture import Faces as Faces
from fem_mbs.contracts.picture import Kind as Kind
from fem_mbs.contracts.picture import Picture as Picture
from fem_mbs.contracts.picture import Placed as Placed
from fem_mbs.contracts.picture import Polyline as Polyline
from fem_mbs.contracts.picture import Shape as Shape
from fem_mbs.contracts.public import Public as Public
from fem_mbs.contracts.public import former
from fem_mbs.contracts.public import instance as instance
from fem_mbs.contracts.public import kept as kept
from fem_mbs.contracts.signal import Combines as Combines
from fem_mbs.contracts.signal import ControlElement as ControlElement
from fem_mbs.contracts.signal import Input as Input
from fem_mbs.contracts.signal import Inputs as Inputs
from fem_mbs.contracts.signal import Sensor as Sensor
from fem_mbs.contracts.signal import SensorBatch as SensorBatch
from fem_mbs.contracts.signal import Signal as Signal
from fem_mbs.contracts.signal import SignalSource as SignalSource
from fem_mbs.contracts.signal import WiredBatch as WiredBatch
from fem_mbs.contracts.time_law import TimeLaw as TimeLaw
from fem_mbs.contracts.unilateral import Gaps as Gaps
from fem_mbs.contracts.unilateral import UnilateralBatch as UnilateralBatch
from fem_mbs.contracts.unilateral import carried_variables as carried_variables
from fem_mbs.lie import se3 as se3
from fem_mbs.lie import so3 as so3

__getattr__ = former(globals())
