"""Control: sensors, blocks with states, actuators, and controllers that take samples."""
