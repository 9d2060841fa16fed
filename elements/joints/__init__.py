"""Joints.

================== ================================= =================
joint              closed relative motions           equations
================== ================================= =================
SphericalJoint     translation                       3
RevoluteJoint      all but the rotation about axis   5, 6 with a drive
FixedJoint         all                               6
================== ================================= =================
"""

from fem_mbs.elements.joints.fixed import FixedJoint
from fem_mbs.elements.joints.revolute import RevoluteJoint
from fem_mbs.elements.joints.spherical import SphericalJoint

__all__ = ["FixedJoint", "RevoluteJoint", "SphericalJoint"]
