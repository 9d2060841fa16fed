"""What many runs tell: errors and orders of a method by experiment, parameter studies."""
