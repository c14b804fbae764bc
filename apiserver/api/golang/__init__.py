"""Texts as Go's standard library reads and prints them: numbers, durations, regular expressions, URLs, addresses."""
