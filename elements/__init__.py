"""The element library: bodies, beams, joints and loads, each written against :mod:`fem_mbs.contracts`."""

from fem_mbs.contracts import Constant, Signal, TimeLaw, Vector, former, public
from fem_mbs.elements.beams.beam import Beam, EndRelease
from fem_mbs.elements.beams.distributed_load import DistributedLoad
from fem_mbs.elements.beams.drag import CrossFlow, Drag
from fem_mbs.elements.beams.mesh import BeamMesh, beams_from_mesh, results_on_mesh
from fem_mbs.elements.beams.section import BeamSection
from fem_mbs.elements.beams.truss import Truss
from fem_mbs.elements.bodies.modal_body import ModalBody
from fem_mbs.elements.bodies.rigid_body import PointMass, RigidBody
from fem_mbs.elements.contact.between import contacts_between as contacts_between
from fem_mbs.elements.contact.contact import Contact as Contact
from fem_mbs.elements.contact.rope import Rope as Rope
from fem_mbs.elements.contact.shapes import Bush as Bush
from fem_mbs.elements.contact.shapes import Capsule as Capsule
from fem_mbs.elements.contact.shapes import Plane as Plane
from fem_mbs.elements.contact.yielding import hertz_stiffness as hertz_stiffness
from fem_mbs.elements.control.actuators import ForceActuator, JointActuator, LineActuator, MomentActuator
from fem_mbs.elements.control.block import Block, SampledController, SampledStateSpace
from fem_mbs.elements.control.controllers import (
    PID,
    Junction,
    LeadLag,
    LowPass,
    Saturation,
    StateSpace,
    TransferFunction,
)
from fem_mbs.elements.control.node_sensor import NodeSensor
from fem_mbs.elements.control.sensor import FunctionSensor, JointSensor, LineSensor, MultiplierSensor
from fem_mbs.elements.flexible.flexible_body import FlexibleBody
from fem_mbs.elements.flexible.interfaces import Interface
from fem_mbs.elements.flexible.mesh_load import MeshLoad
from fem_mbs.elements.flexible.reduction import Reduction
from fem_mbs.elements.forces.bearing import Bearing
from fem_mbs.elements.forces.bushing import Bushing
from fem_mbs.elements.forces.coordinate_law import Law as Law
from fem_mbs.elements.forces.joint_friction import JointFriction
from fem_mbs.elements.forces.line import LineBatch as LineBatch
from fem_mbs.elements.forces.line import LineElement as LineElement
from fem_mbs.elements.forces.loads import Force, Gravity, Moment
from fem_mbs.elements.forces.motors import PositionMotor, SpeedMotor, TorqueMotor
from fem_mbs.elements.forces.springs import FrictionSpring, JointSpring, Maxwell, SpringDamper
from fem_mbs.elements.forces.stops import JointStop
from fem_mbs.elements.forces.user_laws import FirstOrderActuator, JointForce
from fem_mbs.elements.joints.cam import CamJoint
from fem_mbs.elements.joints.coupling import Coupling, JointDrive
from fem_mbs.elements.joints.curve import CurveJoint
from fem_mbs.elements.joints.distance import DistanceJoint
from fem_mbs.elements.joints.frames import axes_about as axes_about
from fem_mbs.elements.joints.lower_pairs import (
    CylindricalJoint,
    FixedJoint,
    GeneralJoint,
    OrientationJoint,
    ParallelAxesJoint,
    PlanarJoint,
    PointOnLineJoint,
    PointOnPlaneJoint,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
)
from fem_mbs.elements.joints.relative import RelativeJoint as RelativeJoint
from fem_mbs.elements.joints.rolling import RollingDisc
from fem_mbs.elements.joints.screw import ScrewJoint
from fem_mbs.elements.joints.shafts import ConstantVelocityJoint, UniversalJoint
from fem_mbs.elements.joints.sliding import SlidingJoint
from fem_mbs.elements.laws.table import ExternalInput, Table
from fem_mbs.elements.laws.transitions import Harmonic, PointToPoint, Ramp, SCurve, SmoothStep, SpinUp
from fem_mbs.elements.shapes import Ball, Box, Cylinder, Surface
from fem_mbs.elements.shells.edge_load import EdgeLoad
from fem_mbs.elements.shells.pressure import Pressure
from fem_mbs.elements.shells.section import ShellSection
from fem_mbs.elements.shells.shell import Shell

__all__ = [
    "contacts_between",
    "hertz_stiffness",
    "Bush",
    "Capsule",
    "Contact",
    "FirstOrderActuator",
    "Ball",
    "Beam",
    "BeamMesh",
    "BeamSection",
    "Bearing",
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
    "EdgeLoad",
    "EndRelease",
    "ExternalInput",
    "FixedJoint",
    "FlexibleBody",
    "Force",
    "ForceActuator",
    "FunctionSensor",
    "GeneralJoint",
    "Gravity",
    "Harmonic",
    "Interface",
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
    "MeshLoad",
    "ModalBody",
    "Moment",
    "MomentActuator",
    "MultiplierSensor",
    "NodeSensor",
    "OrientationJoint",
    "PID",
    "ParallelAxesJoint",
    "PlanarJoint",
    "Plane",
    "PointMass",
    "PointOnLineJoint",
    "PointOnPlaneJoint",
    "PointToPoint",
    "PositionMotor",
    "Pressure",
    "PrismaticJoint",
    "Ramp",
    "Reduction",
    "RevoluteJoint",
    "RigidBody",
    "RollingDisc",
    "Rope",
    "SCurve",
    "SampledController",
    "SampledStateSpace",
    "Saturation",
    "ScrewJoint",
    "Shell",
    "ShellSection",
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
