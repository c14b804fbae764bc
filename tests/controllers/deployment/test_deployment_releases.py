"""Where releases differ about Deployments, by the controller itself: the oldest profile against the newest ones."""

import pytest

from controller_manager.reconcile.contract import Delete, Update
from controller_manager.reconcile.kinds import REPLICA_SET
from controller_manager.reconcile.profile import PROFILES

HISTORY = "deployment.kubernetes.io/revision-history"
ROLLED = {"replicas": 10, "updatedReplicas": 10, "availableReplicas": 10, "observedGeneration": 3}


def test_a_long_history_is_cut(run, make_deployment, make_set):
    back = make_set(1, 10, revision=1400)
    back["metadata"]["annotations"][HISTORY] = ",".join(map(str, range(1000, 1400)))
    done = run(make_deployment("web:1"), [back, make_set(2, 0, revision=1401)])
    changed = next(update.obj for update in done.of(Update) if update.kind is REPLICA_SET)
    entries = changed["metadata"]["annotations"][HISTORY].split(",")
    assert (entries[0], entries[-1]) == ("1001", "1400")


@pytest.mark.parametrize(("release", "gone"), [("1.20", "web-1"), ("1.30", "web-2"), ("1.35", "web-2")])
def test_the_oldest_set_is_told_by_its_revision_or_by_its_age(run, make_deployment, make_set, release, gone):
    deployment = make_deployment("web:3", revisionHistoryLimit=1, status=ROLLED)
    sets = [make_set(1, 0, revision=5), make_set(2, 0, revision=2), make_set(3, 10, revision=6)]
    done = run(deployment, sets, profile=PROFILES[release])
    assert [deletion.key for deletion in done.of(Delete)] == [f"default/{gone}"]
