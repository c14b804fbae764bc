"""A command that is ended, in whatever way, leaves nothing running that tests have started."""

import os
import select
import signal
from typing import Any

import pytest

SECONDS = 60
"""The seconds to wait for the end of a process."""

SOURCE = "def double(n):\n    return n * 2\n"
STARTS = """\
import subprocess
from planted.code import double

def test_double():
    result = double(1)
    command = "exec 3>alive; echo started >&3; exec sleep 600"
    if {when}:
        subprocess.Popen(["sh", "-c", command]).wait()
    assert result == 2
"""
"""A test that starts a process and waits for it; the process holds a pipe open as long as it lives."""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)
@pytest.mark.parametrize(
    "when", ["True", "result is None", "result is not None and result > 2"], ids=["recording", "swapped", "again"]
)
def test_what_a_test_has_started_ends_with_the_command(command: Any, when: str, how: signal.Signals) -> None:
    command.plant(SOURCE, STARTS.format(when=when))
    os.mkfifo(command.root / "alive")
    with command.start() as process:
        try:
            with (command.root / "alive").open("rb", buffering=0) as alive:
                assert alive.read(8) == b"started\n"
                process.send_signal(how)
                assert select.select([alive], [], [], SECONDS)[0], "what the test has started still runs"
                assert alive.read(1) == b""
        finally:
            process.kill()
