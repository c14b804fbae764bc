"""Families of numbers, and the bounds of histograms."""

from controller_manager.reconcile.metric_defs import exponential


def test_bounds_are_multiplied_one_after_the_other():
    assert exponential(1e-8, 10, 5) == (1e-08, 1e-07, 1e-06, 9.999999999999999e-06, 9.999999999999999e-05)
    assert exponential(0.25, 2, 6) == (0.25, 0.5, 1, 2, 4, 8)
