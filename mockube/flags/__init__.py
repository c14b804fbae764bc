"""The command line of `mockube`, a module for each command: `declare` adds the command and its flags.

`run` imports the command itself out of `mockube.commands`, so that help and error messages come at once.
"""
