"""Joints.

====================== ================================= =======================
joint                  closed relative motions           equations
====================== ================================= =======================
SphericalJoint         translation                       3
RevoluteJoint          all but the rotation about axis   5, 6 with a drive
FixedJoint             all                               6
PrismaticJoint         all but one translation           5, 6 with a drive
CylindricalJoint       all but translation and rotation  4, and 1 a drive
                       along an axis
PlanarJoint            height and tilt on a plane        3, and 1 a drive
UniversalJoint         all but two rotations             4
ConstantVelocityJoint  all but two rotations, shafts at  4
                       equal speed
PointOnLineJoint       translation across an axis        2, 3 with a drive
PointOnPlaneJoint      height above a plane              1, and 1 a drive
ParallelAxesJoint      tilt of an axis                   2, and 1 a drive
OrientationJoint       rotation                          3, and 1 a drive
GeneralJoint           any of the six                    1 to 6
DistanceJoint          distance of two points            1
ScrewJoint             all but a turn with a travel      5
CamJoint               a common point and tangent of     3, less 2 places
                       two curves
CurveJoint             translation across a curve        3, less 1 place
SlidingJoint           translation across a beam that    3, less 1 place, and
                       deforms, and rotation if held     3 if held
Coupling               a sum of coordinates of joints    1
JointDrive             a coordinate of a joint, in time  1
RollingDisc            height, slip on a plane           1, and 2 of velocities
====================== ================================= =======================
"""

from fem_mbs.elements.joints.cam import CamJoint
from fem_mbs.elements.joints.coupling import Coupling, JointDrive
from fem_mbs.elements.joints.curve import CurveJoint
from fem_mbs.elements.joints.distance import DistanceJoint
from fem_mbs.elements.joints.lower_pairs import (
    CylindricalJoint,
    FixedJoint,
    PlanarJoint,
    PrismaticJoint,
    RevoluteJoint,
    SphericalJoint,
)
from fem_mbs.elements.joints.primitive import (
    GeneralJoint,
    OrientationJoint,
    ParallelAxesJoint,
    PointOnLineJoint,
    PointOnPlaneJoint,
)
from fem_mbs.elements.joints.rolling import RollingDisc
from fem_mbs.elements.joints.screw import ScrewJoint
from fem_mbs.elements.joints.shafts import ConstantVelocityJoint, UniversalJoint

__all__ = [
    "CamJoint",
    "ConstantVelocityJoint",
    "Coupling",
    "CurveJoint",
    "CylindricalJoint",
    "DistanceJoint",
    "FixedJoint",
    "GeneralJoint",
    "JointDrive",
    "OrientationJoint",
    "ParallelAxesJoint",
    "PlanarJoint",
    "PointOnLineJoint",
    "PointOnPlaneJoint",
    "PrismaticJoint",
    "RevoluteJoint",
    "RollingDisc",
    "ScrewJoint",
    "SphericalJoint",
    "UniversalJoint",
]
