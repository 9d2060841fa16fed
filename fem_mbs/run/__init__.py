"""A run in time: the one loop over steps, lengths of steps, events, output."""
