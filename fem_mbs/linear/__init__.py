"""Linear equations with a pattern that stays, and their null spaces."""
