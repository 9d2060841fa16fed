"""The element library: bodies, beams, joints and loads, each written against the contracts of ``fem_mbs.model``."""

from fem_mbs.elements.actuator import Actuator
from fem_mbs.elements.beam import Beam
from fem_mbs.elements.beam_mesh import BeamMesh, beams_from_mesh
from fem_mbs.elements.bushing import Bushing
from fem_mbs.elements.cross_flow import CrossFlow
from fem_mbs.elements.distributed_load import DistributedLoad
from fem_mbs.elements.drag import Drag
from fem_mbs.elements.gravity import Gravity
from fem_mbs.elements.joint_forces import JointForce, JointSpring
from fem_mbs.elements.joint_friction import JointFriction
from fem_mbs.elements.joint_stop import JointStop
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
from fem_mbs.elements.motors import PositionMotor, SpeedMotor, TorqueMotor
from fem_mbs.elements.rigid_body import PointMass, RigidBody
from fem_mbs.elements.section import BeamSection
from fem_mbs.elements.slip_spring import SlipSpring
from fem_mbs.elements.spring_damper import SpringDamper
from fem_mbs.elements.truss import Truss

__all__ = [
    "Actuator",
    "Beam",
    "BeamMesh",
    "BeamSection",
    "Bushing",
    "Coupling",
    "CrossFlow",
    "DistributedLoad",
    "Drag",
    "EndRelease",
    "FixedJoint",
    "Force",
    "Gravity",
    "JointDrive",
    "JointForce",
    "JointFriction",
    "JointSpring",
    "JointStop",
    "Maxwell",
    "ModalBody",
    "Moment",
    "PointMass",
    "PositionMotor",
    "RevoluteJoint",
    "RigidBody",
    "RollingDisc",
    "SlipSpring",
    "SpeedMotor",
    "SphericalJoint",
    "SpinUp",
    "SpringDamper",
    "TorqueMotor",
    "Truss",
    "beams_from_mesh",
]
