"""Which controllers run, and how durations and addresses are read."""

import pytest

from controller_manager.config import Config
from controller_manager.controllers import CONTROLLERS
from controller_manager.flags import from_arguments


def chosen(*words: str) -> set[str]:
    return {spec.name for spec in Config(controllers=words).chosen()}


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        (["*"], set()),
        (["*", "-deployment"], {"deployment"}),
        (["-deployment", "*"], {"deployment"}),
        (["*", "-scheduler", "-kubelet"], {"scheduler", "kubelet", "node"}),
        (["*", "-kubelet", "node"], {"kubelet"}),
    ],
)
def test_all_controllers_run_but_those_that_are_taken_out(said, missing):
    assert chosen(*said) == set(CONTROLLERS) - missing


def test_names_alone_are_all_that_runs():
    assert chosen("deployment", "replicaset") == {"deployment", "replicaset"}
    assert chosen("-deployment") == set()


def test_flags_are_those_of_kube_controller_manager():
    config, verbosity = from_arguments(
        [
            "--controllers=*,-podgc",
            "--concurrent-deployment-syncs=7",
            "--concurrent-rc-syncs=2",
            "--deployment-controller-sync-period=1m30s",
            "--kube-api-qps=20",
            "--kube-api-burst=30",
            "--leader-elect=false",
            "--metrics-bind-address=0.0.0.0:9090",
            "--terminated-pod-gc-threshold=5",
            "--node-monitor-grace-period=500ms",
            "-v=2",
        ]
    )
    assert (config.workers["deployment"], config.workers["replicationcontroller"]) == (7, 2)
    assert config.workers["statefulset"] == CONTROLLERS["statefulset"].workers
    assert (config.resync["deployment"], config.qps, config.burst, verbosity) == (90, 20, 30, 2)
    assert (config.election, config.metrics_host, config.metrics_port) == (None, "0.0.0.0", 9090)
    assert (config.settings.terminated_pod_gc_threshold, config.settings.node_monitor_grace) == (5, 0.5)


def test_no_port_is_nowhere():
    assert from_arguments(["--metrics-bind-address=0"])[0].metrics_port is None
