"""Fixtures that the tests of OpenKruise's sets share; each folder has a `settled_cluster` of its own."""

import pytest


@pytest.fixture
def in_place(settled_cluster):
    """in_place(policy=…, grace=…, rolling={…}, **spec): a set at rest that updates its pods in place."""

    def make(*, policy="InPlaceIfPossible", grace=0, rolling=None, **spec):
        strategy = {"podUpdatePolicy": policy} | (rolling or {})
        if grace:
            strategy["inPlaceUpdateStrategy"] = {"gracePeriodSeconds": grace}
        return settled_cluster(rolling=strategy, **spec)

    return make
