"""Reconciles bootstrap roles and bindings that exist (component-helpers' auth/rbac/reconciliation)."""

import pytest

from apiserver.app import serving
from apiserver.config import Config
from apiserver.registry.bootstrap.reconcile import binds_another_role, reconciled

GET, LIST, WATCH = ({"verbs": [verb], "apiGroups": [""], "resources": ["pods"]} for verb in ("get", "list", "watch"))
JANE, JOE = {"kind": "User", "name": "jane"}, {"kind": "User", "name": "joe"}
ANNOTATION = "rbac.authorization.kubernetes.io/autoupdate"


def role(*rules, annotations=None, labels=None, selectors=()):
    meta = {"name": "r", "annotations": annotations or {}, "labels": labels or {}}
    aggregation = {"aggregationRule": {"clusterRoleSelectors": list(selectors)}} if selectors else {}
    return {"metadata": meta, "rules": list(rules), **aggregation}


def binding(*subjects, name="r", annotations=None):
    meta = {"name": "b", "annotations": annotations or {}, "labels": {}}
    return {"metadata": meta, "roleRef": {"kind": "ClusterRole", "name": name}, "subjects": list(subjects)}


BOTH = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
SELECTOR, OTHER = {"matchLabels": {"a": "b"}}, {"matchLabels": {"c": "d"}}


@pytest.mark.parametrize(
    ("existing", "expected", "result"),
    [
        (role(GET), role(GET), role(GET)),
        (role(GET), role(GET, LIST), role(GET, LIST)),
        (role(GET, WATCH), role(BOTH), role(GET, WATCH, LIST)),  # rules of users stay, parts that are there too
        (role(BOTH), role(GET), role(BOTH)),
        (role(GET, annotations={ANNOTATION: "false"}), role(LIST), role(GET, annotations={ANNOTATION: "false"})),
        (role(labels={"a": "own"}), role(labels={"a": "b", "c": "d"}), role(labels={"a": "own", "c": "d"})),
        (role(annotations={}), role(annotations={ANNOTATION: "true"}), role(annotations={ANNOTATION: "true"})),
        (role(GET, selectors=[OTHER]), role(LIST, selectors=[SELECTOR]), role(GET, selectors=[OTHER, SELECTOR])),
        (role(GET), role(selectors=[SELECTOR]), role(GET, selectors=[SELECTOR])),
        (binding(JOE), binding(JANE), binding(JOE, JANE)),
        (binding(JANE, JOE), binding(JANE), binding(JANE, JOE)),
        (binding(annotations={ANNOTATION: "false"}), binding(JANE), binding(annotations={ANNOTATION: "false"})),
    ],
)
def test_what_is_missing_is_added_and_the_rest_stays(existing, expected, result):
    assert reconciled(existing, expected) == result


@pytest.mark.parametrize(
    ("existing", "again"),
    [
        (binding(), False),
        (binding(name="other"), True),
        (binding(name="other", annotations={ANNOTATION: "false"}), False),
    ],
)
def test_a_binding_of_another_role_is_made_again(existing, again):
    assert binds_another_role(existing, binding()) is again


async def test_a_start_completes_the_roles_that_are_there(tmp_path):
    config = Config(store=f"sqlite:///{tmp_path}/db", secure_port=0, authorization_modes=("RBAC",))
    view, masters = "/registry/clusterroles/system:kube-dns", "/registry/clusterrolebindings/cluster-admin"
    async with serving(config) as server:
        store = server.registry.storage.store
        kv = store.get(view)
        assert kv is not None
        await store.put(view, kv.value.replace(b'"list","watch"', b'"list"'))
        kv = store.get(masters)
        assert kv is not None
        await store.put(masters, kv.value.replace(b'"name":"cluster-admin"}', b'"name":"view"}'))
    async with serving(config) as server:
        store = server.registry.storage.store
        kv, admins = store.get(view), store.get(masters)
        assert kv is not None
        assert b'"watch"' in kv.value
        assert admins is not None
        assert b'"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"}' in (
            admins.value
        )
