"""Parts of ``reproduce_2024.py``: what is run, the robot in six angles, and figures."""
