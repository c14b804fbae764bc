"""Which controllers run, and how durations and addresses are read."""

import pytest

from apiserver.registry.bootstrap.access import access, manager_access
from controller_manager.config import Config, ConfigError
from controller_manager.flags import from_arguments
from controller_manager.known_controllers import CONTROLLERS


def chosen(*words: str) -> set[str]:
    return {spec.name for spec in Config(controllers=words).selected_controllers()}


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


def test_every_controller_has_an_account_with_a_role():
    roles = [binding for binding in (*access(), *manager_access(kruise=True)) if "roleRef" in binding]
    bound = {
        f"{subject.get('namespace')}/{subject['name']}"
        for binding in roles
        for subject in binding.get("subjects") or ()
    }
    own = {name: spec.account for name, spec in CONTROLLERS.items()}
    assert own.pop("serviceaccount-token") == ""  # as upstream: it runs as the manager, before there are accounts
    assert {f"kube-system/{account}" for account in own.values()} <= bound


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
            "--use-service-account-credentials",
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
    assert config.use_account_credentials
    assert (config.election, config.metrics_host, config.metrics_port) == (None, "0.0.0.0", 9090)
    assert (config.settings.terminated_pod_gc_threshold, config.settings.node_monitor_grace) == (5, 0.5)


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--nodes=-1", "--nodes: -1 is too few: give 0 or more"),
        ("--node-pods=-3", "--node-pods: -3 is too few: give 0 or more"),
        ("--node-cpu=abc", '--node-cpu: "abc" is no quantity: give one such as 32 or 256Gi'),
        ("--node-memory=", '--node-memory: "" is no quantity: give one such as 32 or 256Gi'),
        ("--cluster-cidr=abc", '--cluster-cidr: "abc" is no IPv4 network: give one such as 10.244.0.0/14'),
        ("--kube-api-qps=nan", "--kube-api-qps: it is no number: give requests per second, or -1 for no limit"),
        ("--concurrent-rc-syncs=0", "--concurrent-rc-syncs: 0 workers do nothing: give 1 or more"),
        ("--concurrent-gc-syncs=0", "--concurrent-gc-syncs: 0 workers do nothing: give 1 or more"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_by_its_flag(flag, said):
    with pytest.raises(ConfigError) as refused:
        from_arguments([flag])
    assert str(refused.value) == said


def test_a_network_that_is_too_small_for_the_nodes_is_refused():
    words = (
        "--cluster-cidr: 10.0.0.0/22 has room for 4 nodes of 110 pods, not for 5: "
        "give a larger network, or fewer --nodes or --node-pods"
    )
    with pytest.raises(ConfigError) as refused:
        from_arguments(["--cluster-cidr=10.0.0.0/22", "--nodes=5"])
    assert str(refused.value) == words
    assert from_arguments(["--cluster-cidr=10.0.0.0/22", "--nodes=4"])[0].settings.nodes == 4


def test_many_nodes_get_a_larger_network():
    assert from_arguments(["--nodes=1000"])[0].settings.cluster_cidr == "10.244.0.0/14"
    assert from_arguments(["--nodes=5000"])[0].settings.cluster_cidr == "10.128.0.0/9"


def test_no_port_is_nowhere():
    assert from_arguments(["--metrics-bind-address=0"])[0].metrics_port is None
