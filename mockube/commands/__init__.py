"""The commands of `mockube`, one module each; `declare` adds a command and its flags to the command line.

What does the work is imported when the command runs: help and complaints come at once.
"""
