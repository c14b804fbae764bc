"""Numbers as they are, and percentages of a total, rounded up and down."""

import pytest

from controller_manager.reconcile.int_or_string import scaled


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [
        (None, 10, 0, 0),
        (0, 10, 0, 0),
        (3, 10, 3, 3),
        (-3, 10, -3, -3),
        ("0%", 10, 0, 0),
        ("25%", 10, 3, 2),
        ("50%", 10, 5, 5),
        ("100%", 1000, 1000, 1000),
        ("101%", 1000, 1010, 1010),
        ("-25%", 10, -2, -3),
    ],
)
def test_a_share_is_rounded_up_or_down_and_a_number_is_itself(value, total, up, down):
    assert scaled(value, total, round_up=True) == up
    assert scaled(value, total, round_up=False) == down


@pytest.mark.parametrize("value", ["", "%", "5", "5%%", "1.5%", "--5%", "+5%", " 5%", "x%", "\u0665%"])
def test_other_text_is_no_share(value):
    words = f"invalid value for IntOrString: invalid type: string is not a percentage: {value!r}"
    with pytest.raises(ValueError, match=r"^") as refused:
        scaled(value, 10, round_up=True)
    assert str(refused.value) == words
