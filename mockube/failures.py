"""The end of a command that cannot do what it was asked: one line on stderr, and an exit code."""

import sys


def fail(message: object, *, code: int = 2) -> int:
    """Print why the command ends, and return the exit code."""
    print(f"mockube: {message}", file=sys.stderr)
    return code


def fail_on_file(error: OSError, remedy: str) -> int:
    """Print which file the system refused, and what to do about it; return the exit code."""
    file = f"{error.filename}: " if error.filename else ""
    return fail(f"{file}{error.strerror or error}; {remedy}")
