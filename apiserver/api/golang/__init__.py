"""Go's standard library for texts: how it reads and prints numbers, durations, regular expressions, URLs, addresses."""
