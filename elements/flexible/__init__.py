"""Bodies of finite-element meshes: their reduction to interfaces and modes, and how they move."""
