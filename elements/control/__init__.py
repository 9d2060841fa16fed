"""Control: sensors, blocks with states, actuators, and controllers that take samples."""

from fem_mbs.contracts import Signal
from fem_mbs.elements.control.actuators import ForceActuator, JointActuator, LineActuator, MomentActuator
from fem_mbs.elements.control.block import Block
from fem_mbs.elements.control.controllers import (
    PID,
    Junction,
    LeadLag,
    LowPass,
    Saturation,
    StateSpace,
    TransferFunction,
)
from fem_mbs.elements.control.coordinate_sensors import JointSensor, LineSensor
from fem_mbs.elements.control.node_sensor import NodeSensor
from fem_mbs.elements.control.sampled import SampledController, SampledStateSpace
from fem_mbs.elements.control.sensor import FunctionSensor, MultiplierSensor

__all__ = [
    "PID",
    "Block",
    "ForceActuator",
    "FunctionSensor",
    "JointActuator",
    "JointSensor",
    "Junction",
    "LeadLag",
    "LineActuator",
    "LineSensor",
    "LowPass",
    "MomentActuator",
    "MultiplierSensor",
    "NodeSensor",
    "SampledController",
    "SampledStateSpace",
    "Saturation",
    "Signal",
    "StateSpace",
    "TransferFunction",
]
