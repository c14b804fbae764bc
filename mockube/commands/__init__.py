"""The commands of `mockube`, one module each; `declare` adds a command and its flags to the command line.

A command imports its implementation when it runs, so that help and error messages come at once.
"""
