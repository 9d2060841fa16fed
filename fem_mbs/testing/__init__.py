"""Laws that elements, joints and methods obey, for the tests of this project and for authors of their own."""

from fem_mbs.testing.differences import ContractError
from fem_mbs.testing.element_laws import ELEMENT_LAWS, check_element
from fem_mbs.testing.joint_laws import JOINT_LAWS, check_joint
from fem_mbs.testing.method_laws import METHOD_LAWS, Bench, check_method
from fem_mbs.testing.stage import Stage, build
from fem_mbs.testing.trial import ElementTrial, JointTrial

__all__ = [
    "ELEMENT_LAWS",
    "JOINT_LAWS",
    "METHOD_LAWS",
    "Bench",
    "ContractError",
    "ElementTrial",
    "JointTrial",
    "Stage",
    "build",
    "check_element",
    "check_joint",
    "check_method",
]
