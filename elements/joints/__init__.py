"""Joints.

================== ================================= =================
joint              closed relative motions           equations
================== ================================= =================
SphericalJoint     translation                       3
RevoluteJoint      all but the rotation about axis   5, 6 with a drive
FixedJoint         all                               6
EndRelease         all but some rotations of a       3 to 5
                   beam's end
CamJoint           a common point and tangent of two 3, less 2
                   curves                            places
CurveJoint         translation across a curve        3, less 1
Coupling           a sum of coordinates of joints    1
JointDrive         a coordinate of a joint, over     1
                   time
RollingDisc        height, slip on a plane           1, and 2 of
                                                     velocities
================== ================================= =================
"""

from fem_mbs.elements.joints.cam import CamJoint
from fem_mbs.elements.joints.coupling import Coupling, JointDrive
from fem_mbs.elements.joints.curve import CurveJoint
from fem_mbs.elements.joints.fixed import FixedJoint
from fem_mbs.elements.joints.release import EndRelease
from fem_mbs.elements.joints.revolute import RevoluteJoint
from fem_mbs.elements.joints.rolling import RollingDisc
from fem_mbs.elements.joints.spherical import SphericalJoint

__all__ = [
    "CamJoint",
    "Coupling",
    "CurveJoint",
    "EndRelease",
    "FixedJoint",
    "JointDrive",
    "RevoluteJoint",
    "RollingDisc",
    "SphericalJoint",
]
