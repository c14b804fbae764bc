"""Measure which lines this process runs, if the environment names a folder for what is found (see line_coverage.py)."""

import os

if os.environ.get("MOCKUBE_COVERAGE"):
    import line_coverage

    line_coverage.start()
