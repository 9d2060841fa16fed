"""Control: sensors, blocks with states, actuators, and controllers that take samples."""

from fem_mbs.elements.control.block import Block
from fem_mbs.elements.control.coordinate_actuators import JointActuator, LineActuator
from fem_mbs.elements.control.coordinate_sensors import JointSensor, LineSensor
from fem_mbs.elements.control.function_sensor import FunctionSensor
from fem_mbs.elements.control.junction import Junction, Saturation
from fem_mbs.elements.control.multiplier_sensor import MultiplierSensor
from fem_mbs.elements.control.node_actuators import ForceActuator, MomentActuator
from fem_mbs.elements.control.node_sensor import NodeSensor
from fem_mbs.elements.control.pid import PID
from fem_mbs.elements.control.sampled import SampledController, SampledStateSpace
from fem_mbs.elements.control.signal import Signal
from fem_mbs.elements.control.state_space import StateSpace
from fem_mbs.elements.control.transfer_function import LeadLag, LowPass, TransferFunction

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
