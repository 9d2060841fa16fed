"""The groups of node coordinates, batched over leading axes.

Each of the modules ``r3xso3`` and ``se3`` offers the same operations on frames ``(R, x)`` and increments ``d``
(six numbers, translation first):

=============================  ===========================================================
``compose``, ``inverse``       the group itself
``exp(d)``, ``log(R, x)``      between increments and frames
``bracket(d)``                 matrix of the Lie bracket, ``bracket(d) w = [d, w]``
``adjoint(R, x)``              ``H exp(d) H^-1 = exp(adjoint(H) d)``
``tangent_operator(d)``        right Jacobian: ``D exp(d) . delta = exp(d) hat(T(d) delta)``
``inverse_tangent_operator``   its inverse
=============================  ===========================================================
"""

from types import ModuleType

from fem_mbs.lie import r3xso3, se3, so3

GROUPS: dict[str, ModuleType] = {"R3xSO3": r3xso3, "SE3": se3}

__all__ = ["GROUPS", "r3xso3", "se3", "so3"]
