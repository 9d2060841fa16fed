"""Scripts that model one thing each, compare it with references, and draw it when asked."""
