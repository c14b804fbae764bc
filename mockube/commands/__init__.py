"""The commands of `mockube`, a module each; `mockube.flags` has their flags, and imports the one that runs."""
