"""The element library: bodies, beams, joints and loads, each written against the contracts of ``fem_mbs.model``."""

from fem_mbs.elements.actuator import Actuator
from fem_mbs.elements.beam import Beam
from fem_mbs.elements.beam_mesh import BeamMesh, beams_from_mesh
from fem_mbs.elements.control import (
    PID,
    Block,
    ForceActuator,
    FunctionSensor,
    JointActuator,
    JointSensor,
    Junction,
    LeadLag,
    LineActuator,
    LineSensor,
    LowPass,
    MomentActuator,
    NodeSensor,
    SampledController,
    SampledStateSpace,
    Saturation,
    Signal,
    StateSpace,
    TransferFunction,
)
from fem_mbs.elements.distributed_load import DistributedLoad
from fem_mbs.elements.joints import (
    Coupling,
    EndRelease,
    FixedJoint,
    JointDrive,
    RevoluteJoint,
    RollingDisc,
    SphericalJoint,
)
from fem_mbs.elements.laws import SpinUp
from fem_mbs.elements.loads import Force, Moment
from fem_mbs.elements.maxwell import Maxwell
from fem_mbs.elements.modal_body import ModalBody
from fem_mbs.elements.rigid_body import PointMass, RigidBody
from fem_mbs.elements.section import BeamSection
from fem_mbs.elements.slip_spring import SlipSpring
from fem_mbs.elements.truss import Truss

__all__ = [
    "PID",
    "Actuator",
    "Beam",
    "BeamMesh",
    "BeamSection",
    "Block",
    "Coupling",
    "DistributedLoad",
    "EndRelease",
    "FixedJoint",
    "Force",
    "ForceActuator",
    "FunctionSensor",
    "JointActuator",
    "JointDrive",
    "JointSensor",
    "Junction",
    "LeadLag",
    "LineActuator",
    "LineSensor",
    "LowPass",
    "Maxwell",
    "ModalBody",
    "Moment",
    "MomentActuator",
    "NodeSensor",
    "PointMass",
    "RevoluteJoint",
    "RigidBody",
    "RollingDisc",
    "SampledController",
    "SampledStateSpace",
    "Saturation",
    "Signal",
    "SlipSpring",
    "SphericalJoint",
    "SpinUp",
    "StateSpace",
    "TransferFunction",
    "Truss",
    "beams_from_mesh",
]
