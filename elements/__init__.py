"""The element library: bodies, beams, joints and loads, each written against :mod:`fem_mbs.contracts`."""

from fem_mbs.contracts import former, public
from fem_mbs.elements.beams.beam import Beam, EndRelease
from fem_mbs.elements.beams.distributed_load import DistributedLoad
from fem_mbs.elements.beams.drag import CrossFlow, Drag
from fem_mbs.elements.beams.mesh import BeamMesh, beams_from_mesh, results_on_mesh
from fem_mbs.elements.beams.section import BeamSection
from fem_mbs.elements.beams.truss import Truss
from fem_mbs.elements.bodies.gravity import Gravity
from fem_mbs.elements.bodies.modal_body import ModalBody
from fem_mbs.elements.bodies.rigid_body import PointMass, RigidBody
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
from fem_mbs.elements.forces.bushing import Bushing
from fem_mbs.elements.forces.coordinate_law import Law as Law
from fem_mbs.elements.forces.joint_forces import JointForce, JointSpring, JointStop
from fem_mbs.elements.forces.joint_friction import JointFriction
from fem_mbs.elements.forces.line import LineBatch as LineBatch
from fem_mbs.elements.forces.line import LineElement as LineElement
from fem_mbs.elements.forces.loads import Force, Moment
from fem_mbs.elements.forces.motors import PositionMotor, SpeedMotor, TorqueMotor
from fem_mbs.elements.forces.springs import FirstOrderActuator, FrictionSpring, Maxwell, SpringDamper
from fem_mbs.elements.joints import (
    CamJoint,
    ConstantVelocityJoint,
    Coupling,
    CurveJoint,
    CylindricalJoint,
    DistanceJoint,
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
from fem_mbs.elements.joints.relative import RelativeJoint as RelativeJoint
from fem_mbs.elements.joints.relative import axes_about as axes_about
from fem_mbs.elements.joints.sliding import SlidingJoint
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
from fem_mbs.elements.shapes import Ball, Box, Cylinder, Surface

__all__ = [
    "FirstOrderActuator",
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
    "FrictionSpring",
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

__getattr__ = former(globals())
__dir__ = public(globals())
