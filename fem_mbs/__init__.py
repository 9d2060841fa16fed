"""Flexible multibody dynamics on Lie groups.

A user scripts nodes, bodies, beams, joints and loads; fem_mbs assembles the equations of motion and integrates them
on R3xSO3 or SE(3) with the generalised-alpha method. Elements live in :mod:`fem_mbs.elements`.

The library is loaded with the first name that is used; the command line answers without.
"""

from importlib import import_module
from os import path
from typing import TYPE_CHECKING

from fem_mbs.version import __version__ as __version__

if not path.isdir(path.join(path.dirname(__file__), "elements")):
    # of a clone that nobody has installed: the element library is a folder beside this one
    __path__.append(path.dirname(path.dirname(path.realpath(__file__))))

if TYPE_CHECKING:
    from fem_mbs import elements as elements
    from fem_mbs import testing as testing
    from fem_mbs.interface import *  # noqa: F403
else:

    def __getattr__(name):
        if name == "testing":  # loaded by who asks for it alone
            return import_module("fem_mbs.testing")
        names = vars(import_module("fem_mbs.interface"))
        globals().update({own: names[own] for own in names if own[:2] != "__"}, __all__=names["NAMES"])
        return globals()[name] if name in globals() else names["former"](globals())(name)

    def __dir__():
        return sorted([*__getattr__("__all__"), "elements", "testing"])
