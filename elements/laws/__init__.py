"""Laws of time for drives, loads and references of controllers."""
