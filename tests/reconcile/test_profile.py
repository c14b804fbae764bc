"""The compatibility profile: which release has which switch; no switch is without a row."""

from dataclasses import asdict

import pytest

from controller_manager.reconcile.profile import NEWEST, PROFILES

SWITCHES = {  # 1.20, 1.30, 1.35
    "scale_from": (False, True, True),
    "scale_from_to": (False, False, True),
    "recreates_failed_at_once": (True, False, False),
    "deletion_cost": (False, True, True),
    "logarithmic_ages": (False, True, True),
    "terminating_replicas": (False, False, True),
    "cleanup_by_revision": (False, True, True),
    "max_unavailable": (False, False, True),
    "ordinals": (False, True, True),
    "retention": (False, True, True),
    "min_ready_stateful": (False, True, True),
}


@pytest.mark.parametrize(("release", "column"), [("1.20", 0), ("1.30", 1), ("1.35", 2)])
def test_a_release_has_the_switches_of_its_time(release, column):
    assert asdict(PROFILES[release]) == {name: row[column] for name, row in SWITCHES.items()}


def test_without_a_word_behaviour_is_the_newest():
    assert PROFILES["1.35"] == NEWEST
    assert set(PROFILES) == {"1.20", "1.30", "1.35"}
