"""Pools of numbers: the part that is reserved for requests for a certain number."""

import pytest

from apiserver.registry.serviceip.bitmap import Bitmap, RangeFullError, range_offset


@pytest.mark.parametrize(
    ("size", "step", "most", "share"),
    [  # addresses have a step of 16 and at most 256, ports a step of 32 and at most 128
        (0, 16, 256, 0),
        (16, 16, 256, 0),
        (17, 16, 256, 16),
        (256, 16, 256, 16),
        (287, 16, 256, 17),
        (4096, 16, 256, 256),
        (65536, 16, 256, 256),
        (2768, 32, 128, 86),
        (16, 32, 128, 0),
        (4128, 32, 128, 128),
    ],
)
def test_a_share_of_the_range_is_kept_between_a_least_and_a_most(size, step, most, share):
    assert range_offset(size, step=step, most=most) == share


@pytest.mark.parametrize("static", [0, 1, 2])
def test_every_number_of_a_range_is_allocated_and_those_for_requests_last(static):
    bitmap = Bitmap(30000, 30001, static=static)
    allocated = [bitmap.allocate_next(lambda size: size - 1) for _ in range(2)]
    assert allocated == [30001, 30000]
    with pytest.raises(RangeFullError, match="range is full"):
        bitmap.allocate_next(lambda _: 0)
