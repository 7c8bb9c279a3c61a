"""Networks of drafters whose classes transformers does not hold."""
