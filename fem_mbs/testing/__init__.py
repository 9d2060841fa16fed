"""Laws that elements, joints, sensors, laws of time and methods obey, for our tests and for authors of their own.

Each ``check_...`` says in a :class:`LawReport` which laws it has checked and why the others do not apply.
"""

from fem_mbs.testing.differences import ContractError as ContractError
from fem_mbs.testing.differences import LawReport as LawReport
from fem_mbs.testing.element_laws import ELEMENT_LAWS as ELEMENT_LAWS
from fem_mbs.testing.element_laws import check_element as check_element
from fem_mbs.testing.element_laws import check_sensor as check_sensor
from fem_mbs.testing.joint_laws import JOINT_LAWS as JOINT_LAWS
from fem_mbs.testing.joint_laws import check_joint as check_joint
from fem_mbs.testing.method_laws import METHOD_LAWS as METHOD_LAWS
from fem_mbs.testing.method_laws import Bench as Bench
from fem_mbs.testing.method_laws import check_method as check_method
from fem_mbs.testing.sensitivity_laws import check_sensitivity as check_sensitivity
from fem_mbs.testing.stage import ElementTrial as ElementTrial
from fem_mbs.testing.stage import JointTrial as JointTrial
from fem_mbs.testing.stage import Stage as Stage
from fem_mbs.testing.stage import build as build
from fem_mbs.testing.time_laws import check_law as check_law
