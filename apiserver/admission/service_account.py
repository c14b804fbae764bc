"""ServiceAccount: gives each pod a service account, and a volume with a token of it."""

import asyncio
from collections.abc import Iterator

import orjson

from apiserver.admission.latest import ParsedObjects, get_synced
from apiserver.api.meta import Obj
from apiserver.registry.admission import CREATE, UPDATE, Attributes, Handles, forbidden
from apiserver.registry.clock import Ids
from etcd.store import Compacted, KeyValue, Store

DEFAULT_ACCOUNT = "default"
SECONDS_TO_WAIT = 1.5
"""Seconds to wait for the default account of a new namespace, which a controller creates (getServiceAccount)."""
VOLUME_PREFIX = "kube-api-access-"
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path
TOKEN_SECONDS = 60 * 60 + 7
"""The lifetime of tokens by which upstream knows those of this volume (WarnOnlyBoundTokenExpirationSeconds)."""
MIRROR = "kubernetes.io/config.mirror"
"""The annotation of pods that a kubelet runs from a file, and mirrors to the server."""
ENFORCE_SECRETS = "kubernetes.io/enforce-mountable-secrets"
"""The annotation of an account whose pods may name the secrets alone that the account lists."""

TOKEN_VOLUME: Obj = {
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ],
    "defaultMode": 420,
}
"""The projected volume with the token (TokenVolumeSource); shared by all pods, and never changed in place."""


class ServiceAccount:
    """The plug-in of that name (plugin/pkg/admission/serviceaccount).

    Args:
        store: the store that has the accounts.
        ids: the source of the suffixes of volume names.
    """

    name = "ServiceAccount"
    handles = (
        Handles(CREATE, frozenset((("", "Pod"),))),
        Handles(UPDATE, frozenset((("", "Pod"),)), frozenset(("ephemeralcontainers",))),
    )

    def __init__(self, store: Store, ids: Ids) -> None:
        self._store = store
        self._ids = ids
        self._accounts = ParsedObjects(_parsed)

    async def admit(self, attributes: Attributes) -> None:
        """Set a new pod's account, its token volume and its imagePullSecrets.

        Raises:
            ApiError: 403, there is no such account.
        """
        pod = attributes.obj
        assert pod is not None
        if attributes.operation != "CREATE" or _is_mirror(pod):
            return
        spec = pod["spec"]
        if not spec.get("serviceAccountName"):
            spec["serviceAccountName"] = spec["serviceAccount"] = DEFAULT_ACCOUNT
        account = await self._account(attributes, spec["serviceAccountName"])
        mounts_token = spec.get("automountServiceAccountToken")
        if mounts_token is None:
            mounts_token = account.get("automountServiceAccountToken")
        if mounts_token is not False:
            self._mount_token(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": each["name"]} for each in account["imagePullSecrets"]]

    async def validate(self, attributes: Attributes) -> None:
        """Refuse a pod whose account does not exist, or does not list the secrets that it has to.

        Raises:
            ApiError: 403.
        """
        pod = attributes.obj
        assert pod is not None
        spec = pod["spec"]
        if _is_mirror(pod):
            if attributes.operation == "CREATE" and (problem := _mirror_problem(spec)):
                raise forbidden(attributes, problem)
            return
        account = await self._account(attributes, spec.get("serviceAccountName") or "")
        enforced = (account["metadata"].get("annotations") or {}).get(ENFORCE_SECRETS)
        if enforced in _TRUE:
            fields = _ALL_CONTAINERS if attributes.operation == "CREATE" else _EPHEMERAL
            if problem := next(_secret_problems(account, spec, fields, whole=attributes.operation == "CREATE"), ""):
                raise forbidden(attributes, problem)

    async def _account(self, attributes: Attributes, name: str) -> Obj:
        """Return an account; wait a moment for a default one that does not exist yet.

        Raises:
            ApiError: 403, there is none.
        """
        namespace = attributes.target.namespace
        key = f"/registry/serviceaccounts/{namespace}/{name}"
        kv = self._store.get(key) or await get_synced(self._store, key)
        if kv is None and name == DEFAULT_ACCOUNT:
            kv = await self._wait_for(key)
        if kv is None:
            why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
            raise forbidden(attributes, why)
        return self._accounts.get(kv)

    async def _wait_for(self, key: str) -> KeyValue | None:
        """Return a key as soon as it exists, None if it does not in time."""
        changes = self._store.watch(key, after=self._store.revision)
        try:
            async with asyncio.timeout(SECONDS_TO_WAIT):
                while (kv := self._store.get(key)) is None:
                    await changes.next()
                return kv
        except (TimeoutError, Compacted):
            return self._store.get(key)
        finally:
            changes.close()

    def _mount_token(self, spec: Obj) -> None:
        """Mount the token in every container that mounts nothing else there (mountServiceAccountToken)."""
        volumes = spec.get("volumes") or []
        name = next((each["name"] for each in volumes if each["name"].startswith(VOLUME_PREFIX)), "")
        exists = bool(name)
        name = name or VOLUME_PREFIX + self._ids.suffix()
        mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
        is_needed = False
        for field in ("initContainers", "containers"):
            if containers := spec.get(field):
                spec[field] = [_with_mount(container, mount) for container in containers]
                is_needed |= any(new is not old for new, old in zip(spec[field], containers, strict=True))
        if is_needed and not exists:
            spec["volumes"] = [*volumes, {"name": name, "projected": TOKEN_VOLUME}]


def _parsed(kv: KeyValue) -> Obj:
    account: Obj = orjson.loads(kv.value)
    return account


def _with_mount(container: Obj, mount: Obj) -> Obj:
    """Return a container with the token's mount, the same one if it has another mount at that path."""
    mounts = container.get("volumeMounts") or ()
    for each in mounts:
        if each.get("mountPath") == TOKEN_PATH:
            return container
    return {**container, "volumeMounts": [*mounts, mount]}


def _is_mirror(pod: Obj) -> bool:
    annotations = pod["metadata"].get("annotations")
    return bool(annotations) and MIRROR in annotations


def _mirror_problem(spec: Obj) -> str:
    """Return what a mirror pod must not name, "" if it names nothing of that."""
    if spec.get("serviceAccountName"):
        return "a mirror pod may not reference service accounts"
    volumes = spec.get("volumes") or ()
    if spec.get("imagePullSecrets") or any("secret" in each for each in volumes) or any(_env_secrets(spec)):
        return "a mirror pod may not reference secrets"
    sources = (source for each in volumes for source in (each.get("projected") or {}).get("sources") or ())
    if any(source.get("serviceAccountToken") is not None for source in sources):
        return "a mirror pod may not use ServiceAccountToken volume projections"
    return ""


_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
"""The texts that Go's ParseBool takes for true."""
_ALL_CONTAINERS = (("initContainers", "init container"), ("containers", "container"))
_EPHEMERAL = (("ephemeralContainers", "ephemeral container"),)


def _env_secrets(spec: Obj) -> Iterator[str]:
    for field, _ in (*_ALL_CONTAINERS, *_EPHEMERAL):
        for container in spec.get(field) or ():
            for variable in container.get("env") or ():
                if reference := (variable.get("valueFrom") or {}).get("secretKeyRef"):
                    yield reference.get("name") or ""
            for source in container.get("envFrom") or ():
                if reference := source.get("secretRef"):
                    yield reference.get("name") or ""


def _secret_problems(account: Obj, spec: Obj, fields: tuple[tuple[str, str], ...], *, whole: bool) -> Iterator[str]:
    """Yield what a pod names that its account does not list (limitSecretReferences).

    Args:
        account: the account.
        spec: the pod's spec.
        fields: its lists of containers to look at, with what messages call them.
        whole: whether to look at its volumes and imagePullSecrets too.
    """
    name = account["metadata"]["name"]
    listed = {each.get("name") for each in account.get("secrets") or ()}
    why = f"is not allowed because service account {name} does not reference that"
    for volume in (spec.get("volumes") or ()) if whole else ():
        secret = (volume.get("secret") or {}).get("secretName")
        if secret is not None and secret not in listed:
            yield f'volume with secret.secretName="{secret}" {why} secret'
    for field, words in fields:
        for container in spec.get(field) or ():
            yield from _container_problems(container, f"{words} {container['name']}", listed, why)
    pull = {each.get("name") for each in account.get("imagePullSecrets") or ()}
    for index, each in enumerate((spec.get("imagePullSecrets") or ()) if whole else ()):
        if each.get("name") not in pull:
            yield f'imagePullSecrets[{index}].name="{each.get("name") or ""}" {why} imagePullSecret'


def _container_problems(container: Obj, words: str, listed: set[str | None], why: str) -> Iterator[str]:
    for variable in container.get("env") or ():
        secret = ((variable.get("valueFrom") or {}).get("secretKeyRef") or {}).get("name")
        if secret is not None and secret not in listed:
            yield f'{words} with envVar {variable["name"]} referencing secret.secretName="{secret}" {why} secret'
    for source in container.get("envFrom") or ():
        secret = (source.get("secretRef") or {}).get("name")
        if secret is not None and secret not in listed:
            yield f'{words} with envFrom referencing secret.secretName="{secret}" {why} secret'
