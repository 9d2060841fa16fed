"""What a model can do and what looks wrong of it, before it runs."""
