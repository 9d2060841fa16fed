"""The element library: bodies, beams, joints and loads, each written against the contracts of ``fem_mbs.model``."""

from fem_mbs.elements.actuator import Actuator
from fem_mbs.elements.beam import Beam
from fem_mbs.elements.beam_mesh import BeamMesh, beams_from_mesh
from fem_mbs.elements.distributed_load import DistributedLoad
from fem_mbs.elements.joints import (
    CamJoint,
    Coupling,
    CurveJoint,
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
from fem_mbs.elements.sliding_joint import SlidingJoint
from fem_mbs.elements.slip_spring import SlipSpring
from fem_mbs.elements.truss import Truss

__all__ = [
    "Actuator",
    "Beam",
    "BeamMesh",
    "BeamSection",
    "CamJoint",
    "Coupling",
    "CurveJoint",
    "DistributedLoad",
    "EndRelease",
    "FixedJoint",
    "Force",
    "JointDrive",
    "Maxwell",
    "ModalBody",
    "Moment",
    "PointMass",
    "RevoluteJoint",
    "RigidBody",
    "RollingDisc",
    "SlidingJoint",
    "SlipSpring",
    "SphericalJoint",
    "SpinUp",
    "Truss",
    "beams_from_mesh",
]
