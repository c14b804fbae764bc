"""Keys, what holds unless a controller or a flag says otherwise, and what refusals mean."""

import pytest
from running_controller import no_plan

from apiserver.api.errors import ApiError
from apiserver.api.schema import available_versions
from controller_manager.reconcile.contract import (
    PODS_BY_NODE,
    ControllerSpec,
    Settings,
    is_namespace_terminating,
    key_of,
    split_key,
)
from controller_manager.reconcile.kinds import POD
from controller_manager.runtime.cache import KindCache


@pytest.mark.parametrize(
    ("meta", "key", "parts"),
    [
        ({"name": "a", "namespace": "d"}, "d/a", ("d", "a")),
        ({"name": "n"}, "n", ("", "n")),
        ({"name": "n", "namespace": ""}, "n", ("", "n")),
    ],
)
def test_a_key_is_the_namespace_and_the_name_or_the_name_alone(meta, key, parts):
    assert key_of({"metadata": meta}) == key
    assert split_key(key) == parts


def test_pods_are_found_by_the_node_that_they_are_bound_to_and_by_no_other():
    cache = KindCache(POD)
    cache.add_index(PODS_BY_NODE.name, PODS_BY_NODE.values)
    for name, node in (("a", "n1"), ("b", "n2"), ("c", "n1"), ("unbound", None), ("cleared", "")):
        spec = {} if node is None else {"nodeName": node}
        cache.put({"metadata": {"name": name, "namespace": "d"}, "spec": spec})
    by_node = {
        node: [pod["metadata"]["name"] for pod in cache.by_index("node", node)] for node in ("n1", "n2", "n3", "")
    }
    assert by_node == {"n1": ["a", "c"], "n2": ["b"], "n3": [], "": []}


def test_unless_flags_say_otherwise_no_node_is_simulated_and_each_would_have_the_documented_size():
    settings = Settings()
    assert settings.nodes == 0
    assert (settings.node_cpu, settings.node_memory, settings.node_pods) == ("32", "256Gi", 110)
    assert settings.cluster_cidr == "10.244.0.0/14"
    assert (settings.root_ca, settings.kubelet_endpoint) == ("", "")


def test_kubelets_are_of_the_newest_release_that_is_served_unless_flags_say_otherwise():
    assert Settings().node_version == f"v{available_versions()[-1]}.0"


def test_unless_flags_say_otherwise_the_settings_are_kube_controller_managers():
    settings = Settings()
    assert settings.node_monitor_grace == 50
    assert settings.terminated_pod_gc_threshold == 12500
    assert settings.scheduler_name == "default-scheduler"


def test_a_controller_has_five_workers_unless_it_says_otherwise():
    assert ControllerSpec("x", (), lambda *_: None, no_plan).workers == 5


@pytest.mark.parametrize(
    ("details", "is_terminating"),
    [
        (None, False),
        ({}, False),
        ({"causes": None}, False),
        ({"causes": [{"reason": "FieldValueInvalid"}]}, False),
        ({"causes": [{"reason": "FieldValueInvalid"}, {"reason": "NamespaceTerminating"}]}, True),
    ],
)
def test_a_namespace_goes_away_where_a_cause_of_the_refusal_says_so(details, is_terminating):
    assert is_namespace_terminating(ApiError(403, "Forbidden", "no", details=details)) is is_terminating
