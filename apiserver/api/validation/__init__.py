"""What the validation of all kinds is written with: rules, names, metadata, quantities, paths."""
