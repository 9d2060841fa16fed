"""Contact, stops and ropes."""
