"""What the commands of `mockube` do, a module each; `mockube.flags` has their flags, and imports the one that runs."""
