"""The writer of a field that is stored but has no effect gets a warning, once, and nobody else does."""

from collections.abc import Callable
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.app import serving
from apiserver.config import Config, check, from_arguments
from apiserver.registry.kind_tables import NOTICES
from apiserver.registry.subresources import VIRTUAL
from apiserver.release import load_release
from mockube.threads import in_thread

RELEASES = ("1.37", "1.30", "1.25")
MERGE = "application/merge-patch+json"
SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
SCALER = (
    '299 - "mockube has no HorizontalPodAutoscaler controller: this HorizontalPodAutoscaler is stored, but scales '
    'nothing"'
)
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
SPEC: Obj = {"spec": {"maxReplicas": 1, "scaleTargetRef": TARGET}}


def collection(row: Resource) -> str:
    base = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
    return f"{base}/namespaces/default/{row.plural}" if row.namespaced else f"{base}/{row.plural}"


def notices(answer: Any) -> list[str]:
    """The answer's warnings that are neither of a deprecated version nor of a field."""
    return [text for text in answer.warnings if text.startswith('299 - "mockube ')]


ROWS = [
    pytest.param(version, row, id=f"{version}-{row.plural}.{row.version}.{row.group}")
    for version in RELEASES
    for row in load_release(version).rows
    if (row.group, row.plural) not in VIRTUAL and row.plural != "customresourcedefinitions"
]


@pytest.mark.parametrize(("release", "row"), ROWS)
def test_every_version_of_a_kind_that_is_never_carried_out_says_so_and_no_other_kind_does(
    wires: Callable[[str], Any], minimal: Callable[[Resource], Obj], release: str, row: Resource
) -> None:
    answer = wires(release).ask("POST", f"{collection(row)}?dryRun=All", minimal(row))
    assert answer.code == 201, answer
    expected = [notice.text for notice in NOTICES.get((row.group, row.kind), ()) if not notice.when]
    assert notices(answer) == [f'299 - "{text}"' for text in expected]


@pytest.fixture
def scaler(wires: Callable[[str], Any]) -> Any:
    """A connection to a server that has a HorizontalPodAutoscaler named q."""
    wire = wires("1.37")
    wire.expect(201, "POST", SCALERS, {"metadata": {"name": "q"}} | SPEC)
    yield wire
    wire.expect(200, "DELETE", f"{SCALERS}/q")


@pytest.mark.parametrize("media", [MERGE, "application/strategic-merge-patch+json"])
def test_updates_and_patches_say_it_too(scaler: Any, media: str) -> None:
    old = scaler.get(f"{SCALERS}/q")
    change = {"spec": SPEC["spec"] | {"maxReplicas": 2}}
    assert notices(scaler.ask("PUT", f"{SCALERS}/q", old | change)) == [SCALER]
    assert notices(scaler.ask("PATCH", f"{SCALERS}/q", change, Content_Type=media)) == [SCALER]


def test_reads_writes_of_the_status_refusals_and_deletions_do_not(scaler: Any) -> None:
    status = {"status": {"desiredReplicas": 1}}
    whole = (
        {"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v2", "metadata": {"name": "q"}} | SPEC | status
    )
    for method, path, body, code in (
        ("GET", f"{SCALERS}/q", None, 200),
        ("GET", SCALERS, None, 200),
        ("PATCH", f"{SCALERS}/q/status", status, 200),
        ("PUT", f"{SCALERS}/q/status", whole, 200),
        ("POST", SCALERS, {"metadata": {"name": "no name"}}, 422),
        ("DELETE", f"{SCALERS}/q?dryRun=All", None, 200),
    ):
        answer = scaler.ask(method, path, body, Content_Type=MERGE if method == "PATCH" else "application/json")
        assert (answer.code, answer.warnings) == (code, ()), (method, path)


def test_only_a_claim_that_grows_is_told_that_volumes_do_not(wires: Callable[[str], Any]) -> None:
    wire = wires("1.37")
    classes, claims = "/apis/storage.k8s.io/v1/storageclasses", "/api/v1/namespaces/default/persistentvolumeclaims"
    wire.expect(
        201,
        "POST",
        classes,
        {"metadata": {"name": "growing"}, "provisioner": "example.com/a", "allowVolumeExpansion": True},
    )
    requests = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "growing", "resources": requests}
    made = wire.ask("POST", claims, {"metadata": {"name": "growing"}, "spec": spec})
    assert (made.code, made.warnings) == (201, ())
    bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    wire.patch(f"{claims}/growing/status", bound)
    wire.patch(f"{claims}/growing", {"spec": {"volumeName": "v"}})
    same = wire.ask("PATCH", f"{claims}/growing", {"metadata": {"labels": {"a": "b"}}}, Content_Type=MERGE)
    assert (same.code, same.warnings) == (200, ())
    more = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    grown = wire.ask("PATCH", f"{claims}/growing", more, Content_Type=MERGE)
    assert grown.code == 200, grown
    assert notices(grown) == [
        '299 - "mockube resizes no volumes: this PersistentVolumeClaim is stored, but keeps its capacity"'
    ]


def test_what_a_pod_names_need_not_exist_and_nothing_is_filled_in(wires: Callable[[str], Any]) -> None:
    spec = {"containers": [{"name": "a", "image": "a"}], "serviceAccountName": "nobody"}
    path = "/api/v1/namespaces/default/pods?dryRun=All"
    named = wires("1.37").expect(201, "POST", path, {"metadata": {"name": "a"}, "spec": spec})["spec"]
    assert named["serviceAccountName"] == "nobody"
    unnamed = wires("1.37").expect(
        201, "POST", path, {"metadata": {"name": "a"}, "spec": {"containers": spec["containers"]}}
    )["spec"]
    assert not {"serviceAccountName", "volumes", "tolerations"} & unnamed.keys()


def test_a_server_can_be_told_not_to_say_it(tokens: Any, connect: Any) -> None:
    config = check(Config(secure_port=0, token_auth_file=tokens, warn_unsupported=False))
    with in_thread(serving(config)) as running, connect(running.url) as wire:
        answer = wire.ask("POST", SCALERS, {"metadata": {"name": "q"}} | SPEC)
        assert (answer.code, answer.warnings) == (201, ())


@pytest.mark.parametrize(
    ("flags", "warns"),
    [
        ([], True),
        (["--warn-unsupported"], True),
        (["--warn-unsupported=true"], True),
        (["--warn-unsupported=false"], False),
    ],
)
def test_the_flag_is_read_as_go_reads_one(flags: list[str], *, warns: bool) -> None:
    assert from_arguments(flags)[0].warn_unsupported is warns
