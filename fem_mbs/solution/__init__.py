"""What a run returns, and the queries by name."""
