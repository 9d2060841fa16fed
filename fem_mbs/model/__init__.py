"""The model that a user describes: named nodes, elements and constraints."""
