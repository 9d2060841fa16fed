"""Initial values: consistent positions, velocities, accelerations and multipliers, and why there may be none."""
