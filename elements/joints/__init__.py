"""Joints; docs/joints.md has a table of what each closes and leaves free."""
