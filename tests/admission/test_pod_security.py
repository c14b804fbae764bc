"""PodSecurity: levels, versions, and what is refused or warned of."""

import pytest

from apiserver.admission.podsecurity.checks import detail_of, violations
from apiserver.admission.podsecurity.levels import LATEST, PREFIX, LevelVersion, policy_of
from apiserver.admission.podsecurity.plugin import PodSecurity


def labels(**modes):
    return {PREFIX + mode.replace("_", "-"): value for mode, value in modes.items()}


@pytest.mark.parametrize(
    ("given", "enforce", "warn"),
    [
        ({}, "privileged:latest", "privileged:latest"),
        ({"enforce": "baseline"}, "baseline:latest", "baseline:latest"),
        ({"enforce": "restricted", "enforce_version": "v1.29"}, "restricted:v1.29", "restricted:v1.29"),
        (
            {"enforce": "restricted", "enforce_version": "v1.29", "warn_version": "latest"},
            "restricted:v1.29",
            "restricted:latest",
        ),
        ({"enforce": "baseline", "warn": "restricted"}, "baseline:latest", "restricted:latest"),
        ({"enforce": "restricted", "warn": "privileged"}, "restricted:latest", "privileged:latest"),
    ],
)
def test_labels_say_which_level_holds(given, enforce, warn):
    policy, invalid = policy_of(labels(**given))
    assert (str(policy.enforce), str(policy.warn), invalid) == (enforce, warn, [])


def test_invalid_labels_are_reported_and_enforced_strictly():
    given = labels(enforce="strict", enforce_version="1.29", warn="x", audit_version="v1.x")
    policy, invalid = policy_of(given)
    assert (str(policy.enforce), str(policy.warn), str(policy.audit)) == (
        "restricted:latest",
        "privileged:latest",
        "privileged:latest",
    )
    assert [(each.path, each.message.partition(": ")[2] or each.message) for each in invalid] == [
        (f"metadata.labels[{PREFIX}enforce]", '"strict": must be one of privileged, baseline, restricted'),
        (f"metadata.labels[{PREFIX}enforce-version]", '"1.29": must be "latest" or "v1.x"'),
        (f"metadata.labels[{PREFIX}audit-version]", '"v1.x": must be "latest" or "v1.x"'),
        (f"metadata.labels[{PREFIX}warn]", '"x": must be one of privileged, baseline, restricted'),
    ]


def spec(context=None, **more):
    container = {"name": "c", "image": "i"} | ({"securityContext": context} if context else {})
    return {"containers": [container]} | more


GOOD = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
DETAIL = (
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), '
    'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or '
    '"Localhost")'
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (spec(), ""),
        (spec(hostNetwork=True, hostPID=True), "host namespaces (hostNetwork=true, hostPID=true)"),
        (
            spec({"privileged": True}),
            'privileged (container "c" must not set securityContext.privileged=true)',
        ),
        (
            spec({"capabilities": {"add": ["NET_RAW", "CHOWN", "ALL"]}}),
            (
                'non-default capabilities (container "c" must not include "ALL", "NET_RAW" in '
                "securityContext.capabilities.add)"
            ),
        ),
        (spec(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), 'hostPath volumes (volume "v")'),
        (
            {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}, {"name": "d", "ports": [{"hostPort": 443}]}]},
            'hostPort (containers "c", "d" use hostPorts 443, 80)',
        ),
        (
            {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "a"}}}]},
            'probe or lifecycle host (container "c" uses probe or lifecycle host "a")',
        ),
        (
            spec({"procMount": "Unmasked"}),
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        ),
        (spec({"procMount": "Unmasked"}, hostUsers=False), ""),
        (
            spec({"seLinuxOptions": {"type": "x", "user": "u"}}, securityContext={"seLinuxOptions": {"role": "r"}}),
            (
                'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: type "x"; '
                "user may not be set; role may not be set)"
            ),
        ),
        (
            spec({"seccompProfile": {"type": "Unconfined"}}),
            'seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            spec({"appArmorProfile": {"type": "Unconfined"}}),
            'forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")',
        ),
        (spec(securityContext={"sysctls": [{"name": "kernel.x"}]}), "forbidden sysctls (kernel.x)"),
        (
            spec(securityContext={"windowsOptions": {"hostProcess": True}}),
            "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
        ),
    ],
)
def test_the_baseline_forbids_what_escapes_to_the_node(given, expected):
    assert detail_of(violations(LevelVersion("baseline"), {}, given, newest=37)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (spec(GOOD), ""),
        (
            spec(),
            DETAIL,
        ),
        (
            spec(GOOD | {"capabilities": {"drop": ["ALL"], "add": ["CHOWN", "NET_BIND_SERVICE"]}}),
            'unrestricted capabilities (container "c" must not include "CHOWN" in securityContext.capabilities.add)',
        ),
        (
            spec(GOOD, volumes=[{"name": "v", "hostPath": {"path": "/"}}, {"name": "w", "secret": {}}]),
            'restricted volume types (volume "v" uses restricted volume type "hostPath")',
        ),
        (
            spec(GOOD | {"runAsNonRoot": False}, securityContext={"runAsNonRoot": False}),
            'runAsNonRoot != true (pod and container "c" must not set securityContext.runAsNonRoot=false)',
        ),
        (spec(GOOD | {"runAsUser": 0}), 'runAsUser=0 (container "c" must not set runAsUser=0)'),
        (
            spec(GOOD | {"procMount": "Unmasked"}, hostUsers=False),
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        ),
        (spec(GOOD | {"runAsNonRoot": None}, hostUsers=False), ""),
        (spec({"runAsNonRoot": True}, os={"name": "windows"}), ""),
    ],
)
def test_the_restricted_level_demands_a_hardened_pod(given, expected):
    assert detail_of(violations(LevelVersion("restricted"), {}, given, newest=37)) == expected


@pytest.mark.parametrize(
    ("level", "minor", "newest", "given", "reasons"),
    [
        ("baseline", 28, 37, spec(securityContext={"sysctls": [{"name": "net.ipv4.tcp_keepalive_time"}]}), 1),
        ("baseline", 29, 37, spec(securityContext={"sysctls": [{"name": "net.ipv4.tcp_keepalive_time"}]}), 0),
        ("baseline", LATEST, 28, spec(securityContext={"sysctls": [{"name": "net.ipv4.tcp_keepalive_time"}]}), 1),
        ("baseline", 33, 37, {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "a"}}}]}, 0),
        ("restricted", 7, 37, spec(GOOD | {"allowPrivilegeEscalation": True}), 0),
        ("restricted", 34, 37, spec(GOOD | {"runAsNonRoot": None}, hostUsers=False), 1),
        ("privileged", LATEST, 37, spec({"privileged": True}), 0),
    ],
)
def test_a_version_has_the_checks_of_its_time(level, minor, newest, given, reasons):
    assert len(violations(LevelVersion(level, minor), {}, given, newest=newest)) == reasons


def test_annotations_of_old_times_count():
    meta = {"annotations": {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}}
    assert detail_of(violations(LevelVersion("baseline"), meta, spec(), newest=37)) == (
        "forbidden AppArmor profile (annotation must not set AppArmor profile type to "
        '"container.apparmor.security.beta.kubernetes.io/c="unconfined"")'
    )
    meta = {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}}
    assert detail_of(violations(LevelVersion("baseline", 18), meta, spec(), newest=37)) == (
        'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")'
    )


def test_the_plug_in_looks_at_pods_templates_and_namespaces_alone():
    kinds = {kind for writes in PodSecurity.handles for kind in writes.kinds or ()}
    assert ("", "Pod") in kinds
    assert ("batch", "CronJob") in kinds
    assert ("", "Service") not in kinds
