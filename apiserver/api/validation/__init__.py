"""Building blocks for the validation of all kinds: rules, names, metadata, quantities, paths."""
