"""Laws that elements, joints, sensors, laws of time and methods obey, for our tests and for authors of their own.

Each ``check_...`` says in a :class:`LawReport` which laws it has checked and why the others do not apply.
"""

from fem_mbs.testing.differences import ContractError, LawReport
from fem_mbs.testing.element_laws import ELEMENT_LAWS, check_element, check_sensor
from fem_mbs.testing.joint_laws import JOINT_LAWS, check_joint
from fem_mbs.testing.method_laws import METHOD_LAWS, Bench, check_method
from fem_mbs.testing.stage import Stage, build
from fem_mbs.testing.time_laws import TIME_LAWS, check_law
from fem_mbs.testing.trial import ElementTrial, JointTrial

__all__ = [
    "ELEMENT_LAWS",
    "JOINT_LAWS",
    "METHOD_LAWS",
    "TIME_LAWS",
    "Bench",
    "ContractError",
    "ElementTrial",
    "JointTrial",
    "LawReport",
    "Stage",
    "build",
    "check_element",
    "check_joint",
    "check_law",
    "check_method",
    "check_sensor",
]
