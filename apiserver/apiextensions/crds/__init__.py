"""A definition's life, as pure functions: accepted names, conditions, approval, the kinds it serves, its end."""
