"""Import the mutant that the environment names in this sub-process of a test (see install.py)."""

import os

if os.environ.get("MOCKUBE_MUTANT"):
    from mutation.install import hook_from_environment

    hook_from_environment()
