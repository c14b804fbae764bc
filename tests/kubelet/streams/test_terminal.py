import pytest

from controller_manager.kubelet.streams.terminal import Echo, InputLine, Interrupt, LineEditor, shown

KEYS = [
    (b"ab\r", b"ab\r\n", [b"ab\n"]),
    (b"ab\n", b"ab\r\n", [b"ab\n"]),
    (b"ax\x7fb\r", b"ax\x08 \x08b\r\n", [b"ab\n"]),
    (b"\x7f\x7fa\r", b"a\r\n", [b"a\n"]),
    ("aü\x7fb\r".encode(), "aü\x08 \x08b\r\n".encode(), [b"ab\n"]),
    (b"one two\x17x\r", b"one two" + b"\x08 \x08" * 4 + b"x\r\n", [b"onex\n"]),
    (b"one two \x15x\r", b"one two " + b"\x08 \x08" * 8 + b"x\r\n", [b"x\n"]),
    (b"a\x1b[A\x1b[1;5Cb\x1bOH\r", b"ab\r\n", [b"ab\n"]),
    (b"a\x1bxb\r", b"ab\r\n", [b"ab\n"]),
    (b"a\x00\x01\tb\r", b"ab\r\n", [b"ab\n"]),
    (b"ab\x04", b"ab", [b"ab"]),
    (b"\x04", b"", [b""]),
    (b"\r\r", b"\r\n\r\n", [b"\n", b"\n"]),
    (b"x" * 5000 + b"\r", b"x" * 4096 + b"\r\n", [b"x" * 4096 + b"\n"]),
]
"""Keys that are typed, the text that is shown, and the lines that the program reads."""


@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize(("typed", "echo", "lines"), KEYS, ids=range(len(KEYS)))
def test_a_line_is_edited_and_shown(typed, echo, lines, size):
    editor = LineEditor()
    events = [event for at in range(0, len(typed), size) for event in editor.feed(typed[at : at + size])]
    assert b"".join(event.data for event in events if isinstance(event, Echo)) == echo
    assert [event.line for event in events if isinstance(event, InputLine)] == lines


def test_ctrl_c_drops_the_line():
    assert list(LineEditor().feed(b"x\x03y\r")) == [
        Echo(b"x"),
        Echo(b"^C"),
        Interrupt(),
        Echo(b"y"),
        Echo(b"\r\n"),
        InputLine(b"y\n"),
    ]


def test_every_new_line_begins_at_the_left():
    assert shown(b"a\nb\r\nc\n\n") == b"a\r\nb\r\nc\r\n\r\n"
