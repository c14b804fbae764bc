"""Messages of the scheduler's Events, which may have 1024 characters."""

import pytest

from controller_manager.scheduler.writes import truncate_message


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("short", "short"),
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1020 + " ..."),
        ("x" * 5000, "x" * 1020 + " ..."),
    ],
)
def test_a_long_message_is_cut_and_shows_it(message: str, expected: str) -> None:
    assert truncate_message(message) == expected
