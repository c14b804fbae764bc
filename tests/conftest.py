"""What all tests share."""

import asyncio
import os
import shutil

import pytest

# pytest-asyncio asks for the present loop before its first test, gets one made, and never closes it; told that there is
# none, it makes none.
asyncio.set_event_loop(None)


@pytest.fixture(scope="session")
def kubectl_path() -> str:
    """The path of kubectl; a machine without it skips the test, unless it is the one that decides."""
    found = shutil.which("kubectl")
    if found is None and os.environ.get("CI"):
        pytest.fail("kubectl is not on PATH")
    return found or pytest.skip("kubectl is not on PATH")
