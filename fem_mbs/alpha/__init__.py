"""The generalised-alpha family on the Lie group."""
