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
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
QUOTA = (
    '299 - "mockube has no ResourceQuota admission plug-in and no controller for it: this ResourceQuota is stored, but '
    'counts and limits nothing"'
)


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
def quota(wires: Callable[[str], Any]) -> Any:
    """A connection to a server that has a ResourceQuota named q."""
    wire = wires("1.37")
    wire.expect(201, "POST", QUOTAS, {"metadata": {"name": "q"}})
    yield wire
    wire.expect(200, "DELETE", f"{QUOTAS}/q")


@pytest.mark.parametrize("media", [MERGE, "application/strategic-merge-patch+json"])
def test_updates_and_patches_say_it_too(quota: Any, media: str) -> None:
    old = quota.get(f"{QUOTAS}/q")
    change = {"spec": {"hard": {"pods": "1"}}}
    assert notices(quota.ask("PUT", f"{QUOTAS}/q", old | change)) == [QUOTA]
    assert notices(quota.ask("PATCH", f"{QUOTAS}/q", change, Content_Type=media)) == [QUOTA]


def test_reads_writes_of_the_status_refusals_and_deletions_do_not(quota: Any) -> None:
    status = {"status": {"used": {"pods": "1"}}}
    whole = {"kind": "ResourceQuota", "apiVersion": "v1", "metadata": {"name": "q"}} | status
    for method, path, body, code in (
        ("GET", f"{QUOTAS}/q", None, 200),
        ("GET", QUOTAS, None, 200),
        ("PATCH", f"{QUOTAS}/q/status", status, 200),
        ("PUT", f"{QUOTAS}/q/status", whole, 200),
        ("POST", QUOTAS, {"metadata": {"name": "no name"}}, 422),
        ("DELETE", f"{QUOTAS}/q?dryRun=All", None, 200),
    ):
        answer = quota.ask(method, path, body, Content_Type=MERGE if method == "PATCH" else "application/json")
        assert (answer.code, answer.warnings) == (code, ()), (method, path)


def test_an_update_that_creates_says_it_too(wires: Callable[[str], Any]) -> None:
    wire, path = wires("1.37"), "/apis/node.k8s.io/v1/runtimeclasses/made-by-put"
    runtime_class = {"metadata": {"name": "made-by-put"}, "handler": "h", "overhead": {"podFixed": {"cpu": "1m"}}}
    expected = [
        (
            '299 - "mockube has no RuntimeClass admission plug-in: this RuntimeClass is stored, but Pods get neither '
            'its overhead nor its scheduling"'
        )
    ]
    created = wire.ask("PUT", path, runtime_class)
    assert (created.code, notices(created)) == (201, expected)
    meta = {"name": "made-by-put", "resourceVersion": created.obj["metadata"]["resourceVersion"]}
    again = wire.ask("PUT", path, runtime_class | {"metadata": meta})
    assert (again.code, notices(again)) == (200, expected)


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
    spec = {"containers": [{"name": "a", "image": "a"}], "serviceAccountName": "nobody", "runtimeClassName": "nothing"}
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
        answer = wire.ask("POST", QUOTAS, {"metadata": {"name": "q"}})
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
