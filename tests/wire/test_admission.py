"""Admission over HTTP: every kind of write passes the chain, and what plug-ins say reaches the client."""

import pytest

from apiserver.config import Config
from apiserver.registry.admission import ALL, Handles

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
DENIED = "admission control is denying all modifications"


class Notes:
    """A plug-in that notes every write that it sees in each phase, and warns of each."""

    name = "Notes"
    handles = (Handles(ALL, subresources=None),)

    def __init__(self):
        self.seen = []

    def _note(self, phase, attributes):
        target, options = attributes.target, attributes.options
        path = "/".join(part for part in (target.resource.plural, target.name, target.subresource) if part)
        self.seen.append((phase, attributes.operation, path, bool(attributes.obj), bool(attributes.old), options))
        attributes.warnings.append(f"{phase} {attributes.operation}")

    async def admit(self, attributes):
        self._note("admit", attributes)

    async def validate(self, attributes):
        self._note("validate", attributes)


@pytest.fixture
async def noted(api):
    """(a client, what a plug-in of its server has seen so far)."""
    notes, chain = Notes(), api.running.registry.admission
    chain.install([*chain.plugins, notes])
    await api.post(PODS, POD)
    await api.make("m")
    notes.seen.clear()
    return api, notes.seen


def options(kind, **more):
    return {"kind": f"{kind}Options", "apiVersion": "meta.k8s.io/v1", **more}


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        (
            "POST",
            f"{MAPS}?dryRun=All&fieldManager=me",
            {"metadata": {"name": "n"}},
            ("CREATE", "configmaps", True, False, options("Create", dryRun=["All"], fieldManager="me")),
        ),
        (
            "PUT",
            f"{MAPS}/m?fieldValidation=Strict",
            {"metadata": {"name": "m"}},
            ("UPDATE", "configmaps/m", True, True, options("Update", fieldValidation="Strict")),
        ),
        ("PATCH", f"{MAPS}/m", {"data": {"a": "b"}}, ("UPDATE", "configmaps/m", True, True, options("Update"))),
        (
            "DELETE",
            f"{MAPS}/m?gracePeriodSeconds=0",
            None,
            ("DELETE", "configmaps/m", False, True, options("Delete", gracePeriodSeconds=0)),
        ),
        ("DELETE", MAPS, None, ("DELETE", "configmaps/m", False, True, options("Delete"))),
        (
            "PATCH",
            f"{PODS}/p/status",
            {"status": {"phase": "Running"}},
            ("UPDATE", "pods/p/status", True, True, options("Update")),
        ),
        (
            "POST",
            f"{ACCOUNT}/token",
            {"spec": {}},
            ("CREATE", "serviceaccounts/default/token", True, False, options("Create")),
        ),
        (
            "POST",
            f"{PODS}/p/binding",
            {"metadata": {"name": "p"}, "target": {"name": "node"}},
            ("CREATE", "pods/p/binding", True, False, options("Create")),
        ),
        (
            "POST",
            f"{PODS}/p/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}},
            ("CREATE", "pods/p/eviction", True, False, options("Create")),
        ),
        ("POST", f"{PODS}/p/exec?command=ls&stdout=true", None, ("CONNECT", "pods/p/exec", True, False, {})),
    ],
)
async def test_every_write_passes_both_phases_once(noted, method, path, body, expected):
    api, seen = noted
    answer = (await api.patch(path, body)) if method == "PATCH" else (await api.ask(method, path, body))
    assert [each for each in seen if each[0] == "admit"][:1] == [("admit", *expected)], answer.text
    assert [each for each in seen if each[0] == "validate"][:1] == [("validate", *expected)]
    assert len(seen) == 2
    warnings = answer.headers.getall("Warning")
    assert [f'299 - "{phase} {expected[0]}"' for phase in ("admit", "validate")] == [
        each for each in warnings if expected[0] in each
    ]


async def test_warnings_of_plug_ins_come_with_errors_too(noted):
    api, _ = noted
    taken = await api.post(MAPS, {"metadata": {"name": "m"}})
    assert taken.code == 409
    assert '299 - "validate CREATE"' in taken.headers.getall("Warning")
    invalid = await api.post(MAPS, {"metadata": {"name": "M"}})
    assert invalid.code == 422
    assert '299 - "admit CREATE"' in invalid.headers.getall("Warning")
    assert '299 - "validate CREATE"' not in invalid.headers.getall("Warning")


async def test_a_plug_in_may_refuse_every_kind_of_write(opened):
    async with opened(Config(enable_admission_plugins=("AlwaysDeny",))) as api:
        refused = [
            await api.post(MAPS, {"metadata": {"name": "m"}}),
            await api.delete(ACCOUNT),
            await api.patch(ACCOUNT, {"metadata": {"labels": {"a": "b"}}}),
            await api.post(f"{ACCOUNT}/token", {"spec": {}}),
        ]
        assert [(each.code, each.json["reason"]) for each in refused] == [(403, "Forbidden")] * len(refused)
        assert all(each.message.endswith(f"is forbidden: {DENIED}") for each in refused)
        assert (await api.get(ACCOUNT)).code == 200
