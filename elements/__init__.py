"""The element library: bodies, beams, joints and loads, each written against the contracts of ``fem_mbs.model``."""

from fem_mbs.elements.actuator import Actuator
from fem_mbs.elements.beam import Beam
from fem_mbs.elements.beam_mesh import BeamMesh, beams_from_mesh
from fem_mbs.elements.distributed_load import DistributedLoad
from fem_mbs.elements.joints import (
    ConstantVelocityJoint,
    Coupling,
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
from fem_mbs.elements.modal_body import ModalBody
from fem_mbs.elements.rigid_body import PointMass, RigidBody
from fem_mbs.elements.section import BeamSection
from fem_mbs.elements.shapes import Ball, Box, Cylinder, Surface
from fem_mbs.elements.slip_spring import SlipSpring
from fem_mbs.elements.truss import Truss

__all__ = [
    "Actuator",
    "Ball",
    "Beam",
    "BeamMesh",
    "BeamSection",
    "Box",
    "Constant",
    "ConstantVelocityJoint",
    "Coupling",
    "Cylinder",
    "CylindricalJoint",
    "DistanceJoint",
    "DistributedLoad",
    "EndRelease",
    "FixedJoint",
    "Force",
    "GeneralJoint",
    "Harmonic",
    "JointDrive",
    "Maxwell",
    "ModalBody",
    "Moment",
    "OrientationJoint",
    "ParallelAxesJoint",
    "PlanarJoint",
    "PointMass",
    "PointOnLineJoint",
    "PointOnPlaneJoint",
    "PointToPoint",
    "PrismaticJoint",
    "Ramp",
    "RevoluteJoint",
    "RigidBody",
    "RollingDisc",
    "SCurve",
    "ScrewJoint",
    "SlipSpring",
    "SmoothStep",
    "SphericalJoint",
    "SpinUp",
    "Surface",
    "Table",
    "TimeLaw",
    "Truss",
    "UniversalJoint",
    "Vector",
    "beams_from_mesh",
]
