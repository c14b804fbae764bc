"""Role bindings by subject, kept up to date with each write: a request finds its bindings without looking at others."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import orjson

from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj
from apiserver.api.user import User
from apiserver.registry.storage import ROOT, map_store_errors
from etcd.store import Compacted, KeyValue, Page, Revision, Watcher

CLUSTER_BINDINGS, BINDINGS = f"{ROOT}clusterrolebindings/", f"{ROOT}rolebindings/"
SERVICE_ACCOUNT = "system:serviceaccount:"


class BindingStore(Protocol):
    """The part of a store that the index uses."""

    @property
    def revision(self) -> Revision:
        """The newest revision."""
        ...

    def range(self, prefix: str) -> Page:
        """Return the newest state of all keys under a prefix."""
        ...

    def watch(self, prefix: str, *, after: int) -> Watcher:
        """Return the events under a prefix strictly after a revision."""
        ...


class Subject(NamedTuple):
    """A subject of a binding; a ServiceAccount has the namespace of its binding if it names none."""

    kind: str
    name: str
    namespace: str

    @property
    def user_name(self) -> str:
        """The name of the user that the subject is; "" for groups and for accounts without a namespace."""
        if self.kind == "User":
            return self.name
        is_account = self.kind == "ServiceAccount" and self.namespace
        return f"{SERVICE_ACCOUNT}{self.namespace}:{self.name}" if is_account else ""

    def __str__(self) -> str:
        """Return the subject in upstream's words (describeSubject)."""
        name = f"{self.name}/{self.namespace}" if self.kind == "ServiceAccount" else self.name
        return f"{self.kind} {quoted(name)}"


class Binding(NamedTuple):
    """A RoleBinding, or a ClusterRoleBinding, whose namespace is "".

    Attributes:
        role_key: the key of its role in the store.
    """

    name: str
    namespace: str
    role_kind: str
    role_name: str
    role_key: str
    subjects: tuple[Subject, ...]

    def describe(self, user: User) -> str:
        """Return the binding and the first of its subjects that the user is, in upstream's words."""
        subject = next(s for s in self.subjects if _is_subject(user, s))
        kind, name = ("RoleBinding", f"{self.name}/{self.namespace}") if self.namespace else (_CLUSTER, self.name)
        return f"{kind} {quoted(name)} of {self.role_kind} {quoted(self.role_name)} to {subject}"


_CLUSTER = "ClusterRoleBinding"


def _is_subject(user: User, subject: Subject) -> bool:
    if subject.kind == "Group":
        return subject.name in user.groups
    return bool(subject.user_name) and subject.user_name == user.name


class _Scope:
    """The bindings of one namespace, or of the cluster, by the names of users and of groups; inside by key."""

    __slots__ = ("groups", "users")

    def __init__(self) -> None:
        self.users: dict[str, dict[str, Binding]] = {}
        self.groups: dict[str, dict[str, Binding]] = {}

    def bindings_of(self, user: User) -> Iterator[Binding]:
        """Yield the bindings of a user and of the user's groups; one with several such subjects comes again."""
        if bindings := self.users.get(user.name):
            yield from bindings.values()
        groups = self.groups
        for group in user.groups:
            if group in groups:
                yield from groups[group].values()

    def tables_of(self, binding: Binding) -> Iterator[tuple[dict[str, dict[str, Binding]], str]]:
        """Yield the tables, and the names in them, under which a binding is found."""
        for subject in binding.subjects:
            if subject.kind == "Group":
                yield self.groups, subject.name
            elif subject.user_name:
                yield self.users, subject.user_name


class BindingIndex:
    """All bindings of a store.

    Events are taken in before each answer, so a binding that is written counts for the next request.
    """

    def __init__(self, store: BindingStore) -> None:
        self._store = store
        self._revision = -1
        self._watchers: dict[str, Watcher] = {}
        self._bindings: dict[str, Binding] = {}
        self._scopes: dict[str, _Scope] = {}

    def bindings_of(self, user: User, namespace: str) -> Iterable[Binding]:
        """Return the bindings for a user: those of the cluster, and then those of the namespace, if it is not ""."""
        if self._store.revision != self._revision:
            self._take_events()
        for scope_name in ("", namespace) if namespace else ("",):
            scope = self._scopes.get(scope_name)
            if scope is not None:
                yield from scope.bindings_of(user)

    def _take_events(self) -> None:
        revision = self._store.revision
        with map_store_errors():
            for prefix in (CLUSTER_BINDINGS, BINDINGS):
                try:
                    self._follow(prefix)
                except Compacted:  # too much has changed since the last request
                    self._load(prefix)
        self._revision = revision

    def _follow(self, prefix: str) -> None:
        watcher = self._watchers.get(prefix)
        if watcher is None:
            self._load(prefix)
            return
        while events := watcher.next_nowait():
            for event in events:
                self._remove(event.key)
                if event.kv is not None:
                    self._add(event.kv)

    def _load(self, prefix: str) -> None:
        if prefix in self._watchers:
            self._watchers[prefix].close()
        for key in [key for key in self._bindings if key.startswith(prefix)]:
            self._remove(key)
        page = self._store.range(prefix)
        self._watchers[prefix] = self._store.watch(prefix, after=page.revision)
        for kv in page.items:
            self._add(kv)

    def _add(self, kv: KeyValue) -> None:
        binding = self._bindings[kv.key] = _binding(kv)
        scope = self._scopes.setdefault(binding.namespace, _Scope())
        for table, name in scope.tables_of(binding):
            table.setdefault(name, {})[kv.key] = binding

    def _remove(self, key: str) -> None:
        binding = self._bindings.pop(key, None)
        if binding is None:
            return
        for table, name in self._scopes[binding.namespace].tables_of(binding):
            named = table.get(name, {})
            named.pop(key, None)
            if not named:
                table.pop(name, None)


def _binding(kv: KeyValue) -> Binding:
    obj: Obj = orjson.loads(kv.value)
    meta, ref = obj["metadata"], obj.get("roleRef") or {}
    namespace, kind, name = meta.get("namespace") or "", ref.get("kind") or "", ref.get("name") or ""
    subjects = tuple(
        Subject(subject.get("kind") or "", subject.get("name") or "", subject.get("namespace") or namespace)
        for subject in obj.get("subjects") or ()
    )
    return Binding(meta["name"], namespace, kind, name, role_key(kind, namespace, name), subjects)


def role_key(kind: str, namespace: str, name: str) -> str:
    """Return the key in the store of the role that a binding in a namespace names."""
    return f"{ROOT}roles/{namespace}/{name}" if kind == "Role" else f"{ROOT}clusterroles/{name}"
