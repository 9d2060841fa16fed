"""The element library: bodies, beams, joints and loads, each written against the contracts of ``fem_mbs.model``."""

from fem_mbs.elements.actuator import Actuator
from fem_mbs.elements.beam import Beam
from fem_mbs.elements.beam_mesh import BeamMesh, beams_from_mesh
from fem_mbs.elements.bushing import Bushing
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
    MultiplierSensor,
    NodeSensor,
    SampledController,
    SampledStateSpace,
    Saturation,
    Signal,
    StateSpace,
    TransferFunction,
)
from fem_mbs.elements.cross_flow import CrossFlow
from fem_mbs.elements.distributed_load import DistributedLoad
from fem_mbs.elements.drag import Drag
from fem_mbs.elements.gravity import Gravity
from fem_mbs.elements.joint_forces import JointForce, JointSpring
from fem_mbs.elements.joint_friction import JointFriction
from fem_mbs.elements.joint_stop import JointStop
from fem_mbs.elements.joints import (
    CamJoint,
    ConstantVelocityJoint,
    Coupling,
    CurveJoint,
    CylindricalJoint,
    DistanceJoint,
    EndRelease,
    FixedJoint,
    GeneralJoint,
    JointDrive,
    OrientationJoint,
    ParallelAxesJoint,
    PlanarJoint,
    PointOnLineJoint,
    PointOnPlaneJoint,
    PrismaticJoint,
    RevoluteJoint,
    RollingDisc,
    ScrewJoint,
    SphericalJoint,
    UniversalJoint,
)
from fem_mbs.elements.laws import (
    Constant,
    ExternalInput,
    Harmonic,
    PointToPoint,
    Ramp,
    SCurve,
    SmoothStep,
    SpinUp,
    Table,
    TimeLaw,
    Vector,
)
from fem_mbs.elements.loads import Force, Moment
from fem_mbs.elements.maxwell import Maxwell
from fem_mbs.elements.mesh_results import results_on_mesh
from fem_mbs.elements.modal_body import ModalBody
from fem_mbs.elements.motors import PositionMotor, SpeedMotor, TorqueMotor
from fem_mbs.elements.rigid_body import PointMass, RigidBody
from fem_mbs.elements.section import BeamSection
from fem_mbs.elements.shapes import Ball, Box, Cylinder, Surface
from fem_mbs.elements.sliding_joint import SlidingJoint
from fem_mbs.elements.slip_spring import SlipSpring
from fem_mbs.elements.spring_damper import SpringDamper
from fem_mbs.elements.truss import Truss
from fem_mbs.model import public

__all__ = [
    "Actuator",
    "Ball",
    "Beam",
    "BeamMesh",
    "BeamSection",
    "Block",
    "Box",
    "Bushing",
    "CamJoint",
    "Constant",
    "ConstantVelocityJoint",
    "Coupling",
    "CrossFlow",
    "CurveJoint",
    "Cylinder",
    "CylindricalJoint",
    "DistanceJoint",
    "DistributedLoad",
    "Drag",
    "EndRelease",
    "ExternalInput",
    "FixedJoint",
    "Force",
    "ForceActuator",
    "FunctionSensor",
    "GeneralJoint",
    "Gravity",
    "Harmonic",
    "JointActuator",
    "JointDrive",
    "JointForce",
    "JointFriction",
    "JointSensor",
    "JointSpring",
    "JointStop",
    "Junction",
    "LeadLag",
    "LineActuator",
    "LineSensor",
    "LowPass",
    "Maxwell",
    "ModalBody",
    "Moment",
    "MomentActuator",
    "MultiplierSensor",
    "NodeSensor",
    "OrientationJoint",
    "PID",
    "ParallelAxesJoint",
    "PlanarJoint",
    "PointMass",
    "PointOnLineJoint",
    "PointOnPlaneJoint",
    "PointToPoint",
    "PositionMotor",
    "PrismaticJoint",
    "Ramp",
    "RevoluteJoint",
    "RigidBody",
    "RollingDisc",
    "SCurve",
    "SampledController",
    "SampledStateSpace",
    "Saturation",
    "ScrewJoint",
    "Signal",
    "SlidingJoint",
    "SlipSpring",
    "SmoothStep",
    "SpeedMotor",
    "SphericalJoint",
    "SpinUp",
    "SpringDamper",
    "StateSpace",
    "Surface",
    "Table",
    "TimeLaw",
    "TorqueMotor",
    "TransferFunction",
    "Truss",
    "UniversalJoint",
    "Vector",
    "beams_from_mesh",
    "results_on_mesh",
]

__dir__ = public(globals())
