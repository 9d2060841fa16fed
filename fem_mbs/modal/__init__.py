"""Small motions about a state: linear equations, natural frequencies and mode shapes."""
