"""The manager's metrics have upstream's names, types, labels and buckets, tell what happens, and do not multiply."""

import re
import urllib.request
from pathlib import Path

import pytest

from controller_manager.known_controllers import CONTROLLERS

WORK = ("1e-08", "1e-07", "1e-06", "9.999999999999999e-06", "9.999999999999999e-05", "0.001", "0.01", "0.1", "1", "10")
REQUEST = ("0.005", "0.025", "0.1", "0.25", "0.5", "1", "2", "4", "8", "15", "30", "60")
ATTEMPT = tuple(f"{0.001 * 2**power:.12g}" for power in range(15))
AGES = ("0.25", "0.5", "1", "2", "4", "8")
LATE = ("0.005", "0.025", "0.1", "0.5", "1", "2.5", "10", "30", "60", "120", "180", "240")
SERIES = 40
"""The highest average of series for each controller; most are buckets."""
SET = {"statefulset_namespace", "statefulset_name", "pod_management_policy"}


@pytest.mark.parametrize(
    ("name", "type_", "labels", "buckets"),
    [
        ("workqueue_adds_total", "counter", {"name"}, ()),
        ("workqueue_retries_total", "counter", {"name"}, ()),
        ("workqueue_depth", "gauge", {"name"}, ()),
        ("workqueue_unfinished_work_seconds", "gauge", {"name"}, ()),
        ("workqueue_longest_running_processor_seconds", "gauge", {"name"}, ()),
        ("workqueue_queue_duration_seconds", "histogram", {"name"}, WORK),
        ("workqueue_work_duration_seconds", "histogram", {"name"}, WORK),
        ("rest_client_requests_total", "counter", {"code", "method", "host"}, ()),
        ("rest_client_request_duration_seconds", "histogram", {"verb", "host"}, REQUEST),
        ("leader_election_master_status", "gauge", {"name"}, ()),
        ("replicaset_controller_sorting_deletion_age_ratio", "histogram", set(), AGES),
        ("statefulset_controller_statefulset_max_unavailable", "gauge", SET, ()),
        ("statefulset_controller_statefulset_unavailable_replicas", "gauge", SET, ()),
        ("scheduler_schedule_attempts_total", "counter", {"result", "profile"}, ()),
        ("scheduler_scheduling_attempt_duration_seconds", "histogram", {"result", "profile"}, ATTEMPT),
        ("scheduler_pod_scheduling_attempts", "histogram", set(), ("1", "2", "4", "8", "16")),
        ("scheduler_pending_pods", "gauge", {"queue"}, ()),
        ("scheduler_preemption_attempts_total", "counter", set(), ()),
        ("scheduler_preemption_victims", "histogram", set(), ("1", "2", "4", "8", "16", "32", "64")),
        ("node_collector_zone_size", "gauge", {"zone"}, ()),
        ("node_collector_zone_health", "gauge", {"zone"}, ()),
        ("node_collector_unhealthy_nodes_in_zone", "gauge", {"zone"}, ()),
        ("taint_eviction_controller_pod_deletions_total", "counter", set(), ()),
        ("taint_eviction_controller_pod_deletion_duration_seconds", "histogram", set(), LATE),
        ("kubelet_running_pods", "gauge", {"node"}, ()),
        ("controller_runtime_max_concurrent_reconciles", "gauge", {"controller"}, ()),
        ("controller_runtime_active_workers", "gauge", {"controller"}, ()),
        ("process_cpu_seconds_total", "counter", set(), ()),
        ("process_resident_memory_bytes", "gauge", set(), ()),
        ("process_start_time_seconds", "gauge", set(), ()),
        ("process_open_fds", "gauge", set(), ()),
    ],
)
def test_names_types_labels_and_buckets_are_upstreams(live, name, type_, labels, buckets) -> None:
    family = live.families()[name]
    assert family.type == type_
    assert {label for sample in family.samples for label in sample.labels} - {"le"} == labels
    bounds = [sample.labels["le"] for sample in family.samples if sample.name == f"{name}_bucket"]
    assert bounds[: len(buckets) + 1] == ([*buckets, "+Inf"] if buckets else [])


def test_every_metric_is_documented_with_its_type(live) -> None:
    text = (Path(__file__).parents[3] / "docs" / "controllers.md").read_text()
    rows = re.findall(r"^\| (`[^|]*`) \| (counter|gauge|histogram) \|", text, re.MULTILINE)
    documented = {name: type_ for names, type_ in rows for name in re.findall(r"`(\w+)`", names)}
    families = {name: family.type for name, family in live.families().items()}
    types = {name: type_ for name, type_ in families.items() if not name.startswith(("process_", "python_"))}
    assert types.items() <= documented.items()


def test_each_controller_has_a_queue_under_upstreams_name(live) -> None:
    names = {sample.labels["name"] for sample in live.families()["workqueue_depth"].samples}
    assert names == {spec.queue or spec.name for spec in CONTROLLERS.values()}
    assert names >= {"deployment", "replicaset", "replicationmanager", "statefulset", "namespace", "disruption"}


@pytest.mark.parametrize(
    ("name", "labels", "least"),
    [
        ("workqueue_adds_total", {"name": "deployment"}, 5),
        ("workqueue_work_duration_seconds_count", {"name": "replicaset"}, 3),
        ("workqueue_work_duration_seconds_sum", {"name": "kubelet"}, 0.001),
        ("workqueue_queue_duration_seconds_count", {"name": "statefulset"}, 2),
        ("leader_election_master_status", {"name": "kube-controller-manager"}, 1),
        ("replicaset_controller_sorting_deletion_age_ratio_count", {}, 1),
        ("scheduler_schedule_attempts_total", {"result": "scheduled", "profile": "default-scheduler"}, 6),
        ("scheduler_schedule_attempts_total", {"result": "unschedulable", "profile": "default-scheduler"}, 1),
        (
            "scheduler_scheduling_attempt_duration_seconds_sum",
            {"result": "scheduled", "profile": "default-scheduler"},
            0.001,
        ),
        ("scheduler_pod_scheduling_attempts_count", {}, 6),
        ("scheduler_preemption_attempts_total", {}, 1),
        ("scheduler_pending_pods", {"queue": "gated"}, 1),
        ("taint_eviction_controller_pod_deletions_total", {}, 1),
        ("taint_eviction_controller_pod_deletion_duration_seconds_count", {}, 1),
        ("process_resident_memory_bytes", {}, 1e6),
    ],
)
def test_values_tell_what_happened(live, name, labels, least) -> None:
    assert live.value(name, **labels) >= least


def test_requests_are_counted_by_code_and_method_for_the_one_server(live) -> None:
    samples = live.families()["rest_client_requests_total"].samples
    assert {sample.labels["host"] for sample in samples} == {live.url.removeprefix("https://")}
    assert {("201", "POST"), ("200", "GET"), ("200", "PUT"), ("200", "DELETE")} <= {
        (sample.labels["code"], sample.labels["method"]) for sample in samples
    }


def test_nodes_and_their_pods_are_told(live) -> None:
    families = live.families()
    sizes = {sample.labels["zone"]: sample.value for sample in families["node_collector_zone_size"].samples}
    assert list(sizes.values()) == [1, 1, 1]
    assert all(zone.isprintable() for zone in sizes)
    assert [sample.value for sample in families["node_collector_zone_health"].samples] == [100, 100, 100]
    running = {sample.labels["node"]: sample.value for sample in families["kubelet_running_pods"].samples}
    assert set(running) == {"node-1", "node-2", "node-3"}
    assert sum(running.values()) == 5


def test_what_is_read_of_a_stateful_set_comes_and_goes_with_it(live, workload) -> None:
    sets = "/apis/apps/v1/namespaces/default/statefulsets"
    labels = {"statefulset_namespace": "default", "statefulset_name": "wide", "pod_management_policy": "Parallel"}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}}
    spec = {"serviceName": "wide", "podManagementPolicy": "Parallel", "updateStrategy": strategy, "replicas": 4}
    live.ask("POST", sets, workload("StatefulSet", "wide", **spec))
    live.wait_for(lambda: live.value("statefulset_controller_statefulset_max_unavailable", **labels) == 2)
    live.wait_for(lambda: live.value("statefulset_controller_statefulset_unavailable_replicas", **labels) == 0)
    live.ask("DELETE", f"{sets}/wide")
    live.wait_for(lambda: 'statefulset_name="wide"' not in live.text())
    live.wait_for(lambda: live.running("app=wide") == 0)


def series(live) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
    return {
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in live.families().values()
        for sample in family.samples
    }


def test_more_objects_and_odd_names_make_no_more_series(live, workload) -> None:
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    live.try_to("GET", "/nowhere")
    before = series(live)
    for number in range(10):
        live.ask("POST", deployments, workload("Deployment", f"more-{number}"))
    live.wait_for(lambda: live.running("app") >= 25)
    assert [name for name, _ in series(live) - before if not name.startswith("rest_client_")] == []  # a code may be new
    for number in range(10):
        live.ask("DELETE", f"{deployments}/more-{number}")
    live.wait_for(lambda: live.running("app") <= 5)
    assert len(series(live)) < SERIES * len(CONTROLLERS)


def test_the_release_1_20_has_fewer_metrics(live_with) -> None:
    with live_with("--compatibility=1.20") as old:
        families = old.families()
    assert not [name for name in families if "age_ratio" in name or "statefulset_controller" in name]


def test_families_without_samples_are_left_out_and_the_others_explain_themselves(live) -> None:
    families = live.families()
    assert all(family.samples for family in families.values())
    assert all(family.documentation for family in families.values())


def test_it_is_text_for_prometheus(live) -> None:
    with urllib.request.urlopen(live.metrics_url) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        answer.read()
