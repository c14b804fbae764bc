"""Any sequence of edits of a definition, beside writers and readers of its objects, leaves all as a model says.

The model: an object is written by the version that it comes in (its fields, its defaults), kept as far as the stored
version knows it, and read by the version that it was stored in (its fields and defaults of now), as far as the version
that is asked for knows it.
"""

import asyncio
import json
import logging
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any, cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from patience import SECONDS

from apiserver.controllers import crd_finalizer

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLACE = f"{CRDS}/widgets.example.com"
NAMES = ("v1", "v1beta1", "v1alpha1")
TYPES = {"size": "integer", "weight": "integer", "colour": "string"}
VALUES = {"integer": st.integers(0, 2), "string": st.sampled_from("ab")}
INITIAL = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
MOST = 5
"""Objects that there may be before no more are made."""

Spec = dict[str, Any]


def here(version: str, name: str = "") -> str:
    return f"/apis/example.com/{version}/namespaces/default/widgets{f'/{name}' if name else ''}"


def widget(version: str, name: str, spec: Spec) -> Spec:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


@dataclass
class Version:
    """One of a definition: is it served, and which fields has it with which defaults (None: none)?"""

    served: bool = True
    fields: Spec = field(default_factory=dict)

    def pruned(self, spec: Spec) -> Spec:
        return {name: value for name, value in spec.items() if name in self.fields}

    def completed(self, spec: Spec) -> Spec:
        return {name: value for name, value in self.fields.items() if value is not None} | self.pruned(spec)


@dataclass
class StoredObject:
    """An object in the store."""

    version: str
    spec: Spec


@dataclass
class Definition:
    """The versions of a definition; `storage` is one of them."""

    versions: dict[str, Version]
    storage: str

    @property
    def served(self) -> list[str]:
        return [name for name, version in self.versions.items() if version.served]

    def written(self, version: str, spec: Spec) -> Spec:
        """Return a spec as the version that it is written in completes it."""
        return self.versions[version].completed(spec)

    def stored(self, version: str, spec: Spec) -> StoredObject:
        """Return a spec that was written in a version, as it is stored."""
        return StoredObject(self.storage, spec if version == self.storage else self.versions[self.storage].pruned(spec))

    def read(self, version: str, obj: StoredObject) -> Spec:
        """Return an object as it is shown in a version."""
        known = self.versions.get(obj.version)
        spec = known.completed(obj.spec) if known else obj.spec
        return spec if version == obj.version else self.versions[version].pruned(spec)

    def wire(self) -> list[Spec]:
        return [self._version(name, version) for name, version in self.versions.items()]

    def _version(self, name: str, version: Version) -> Spec:
        fields = {
            each: {"type": TYPES[each]} | ({} if default is None else {"default": default})
            for each, default in version.fields.items()
        }
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
        head = {"name": name, "served": version.served, "storage": name == self.storage}
        return head | {"schema": {"openAPIV3Schema": schema}}


@dataclass
class Write:
    """A write that is under way while its definition changes: of a new object, or of the spec of one that is there."""

    name: str
    version: str
    spec: Spec
    before: StoredObject | None
    turns: int
    code: int = 0

    def outcomes(self, states: tuple[Definition, Definition]) -> list[StoredObject]:
        """Return what may be stored: each stage sees the definition as it was or as it will be, and never goes back."""
        outcomes = []
        for seen, decoded, kept in combinations_with_replacement(states, 3):
            if self.version in seen.served and self.version in decoded.served:
                old = seen.read(self.version, self.before) if self.before else {}
                outcomes.append(kept.stored(self.version, decoded.written(self.version, old | self.spec)))
        return outcomes


specs = st.fixed_dictionaries({}, optional={name: VALUES[kind] for name, kind in TYPES.items()})
schemas = st.fixed_dictionaries({}, optional={name: st.none() | VALUES[kind] for name, kind in TYPES.items()})
picks = st.integers(0, 99)
traffic = st.lists(st.tuples(picks, picks, specs, st.integers(0, 30)), min_size=1, max_size=3)


def picked(pick: int, choices: Any) -> Any:
    return [*choices][pick % len(choices)]


class Edits(RuleBasedStateMachine):
    """Edits of one definition, beside writers and readers."""

    def __init__(self, opened: Any, caplog: Any) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.caplog = caplog
        self.server = opened()
        self.api = self.runner.run(self.server.__aenter__())
        self.objects: dict[str, StoredObject] = {}
        self.count = 0

    def teardown(self) -> None:
        self.runner.run(self.server.__aexit__(None, None, None))
        self.runner.close()

    # -- rules

    @initialize(stored=schemas, other=schemas)
    def define(self, stored: Spec, other: Spec) -> None:
        self.definition = Definition({"v1": Version(fields=stored), "v1beta1": Version(fields=other)}, "v1")
        self.runner.run(self._define())

    @rule(pick=picks, spec=specs)
    def make(self, pick: int, spec: Spec) -> None:
        if len(self.objects) < MOST:
            write = Write(self._next_name(), picked(pick, self.definition.served), spec, None, 0)
            self.runner.run(self._settled(write))

    @rule(pick=picks, which=picks, spec=specs)
    def change(self, pick: int, which: int, spec: Spec) -> None:
        if self.objects:
            name = picked(which, self.objects)
            version = picked(pick, self.definition.served)
            self.runner.run(self._settled(Write(name, version, spec, self.objects[name], 0)))

    @rule(pick=picks, fields=schemas, beside=traffic)
    def change_a_schema(self, pick: int, fields: Spec, beside: Any) -> None:
        after = deepcopy(self.definition)
        after.versions[picked(pick, after.versions)].fields = fields
        self._edit(after, beside)

    @rule(pick=picks, fields=schemas, beside=traffic)
    def move_storage(self, pick: int, fields: Spec, beside: Any) -> None:
        after = deepcopy(self.definition)
        after.storage = picked(pick, after.versions)
        after.versions[after.storage].fields = fields
        self._edit(after, beside)

    @rule(pick=picks, beside=traffic)
    def serve_or_hide(self, pick: int, beside: Any) -> None:
        after = deepcopy(self.definition)
        version = after.versions[picked(pick, after.versions)]
        version.served = not version.served
        if after.served:
            self._edit(after, beside)

    @rule(pick=picks, fields=schemas, beside=traffic)
    def add_or_remove(self, pick: int, fields: Spec, beside: Any) -> None:
        after, name = deepcopy(self.definition), picked(pick, NAMES)
        if name not in after.versions:
            after.versions[name] = Version(fields=fields)
        elif name != after.storage:
            del after.versions[name]
        if after.served:
            self._edit(after, beside)

    @rule(pick=picks, fields=schemas, beside=traffic)
    def delete_and_define_again(self, pick: int, fields: Spec, beside: Any) -> None:
        writes = self._writes(beside)
        self.runner.run(self._delete(writes))
        name = picked(pick, NAMES)
        self.objects, self.definition = {}, Definition({name: Version(fields=fields)}, name)
        self.runner.run(self._define())

    @invariant()
    def all_is_read_as_the_model_says(self) -> None:
        if hasattr(self, "definition"):
            self.runner.run(self._check())
        assert not [record for record in self.caplog.records if record.levelno >= logging.WARNING]

    # -- what they do

    def _next_name(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def _writes(self, beside: Any) -> list[Write]:
        """Writes of different objects, which are to be under way at once."""
        free, writes = [*self.objects], []
        for pick, which, spec, turns in beside:
            name = (
                free.pop(which % len(free)) if free and (which % 2 or len(self.objects) >= MOST) else self._next_name()
            )
            version = picked(pick, self.definition.served)
            writes.append(Write(name, version, spec, self.objects.get(name), turns))
        return writes

    def _edit(self, after: Definition, beside: Any) -> None:
        self.runner.run(self._edited(after, self._writes(beside)))

    async def _define(self) -> None:
        names = {"plural": "widgets", "kind": "Widget"}
        spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": self.definition.wire()}
        body = {"metadata": {"name": "widgets.example.com"}, "spec": spec}
        reply = await self.api.post(CRDS, body | {"apiVersion": "apiextensions.k8s.io/v1"})
        assert reply.code == 201, reply.text
        await self._until_served(reply.json)

    async def _until_served(self, spec: Spec) -> None:
        """Wait until requests are answered as a definition says."""
        entries = {each["name"]: each for each in spec["spec"]["versions"]}
        served = {(name, json.dumps(entries)) for name, each in entries.items() if each["served"]}
        customs = self.api.running.registry.customs
        async with asyncio.timeout(SECONDS):
            while served != {(kind.resource.version, json.dumps(kind.versions.entries)) for kind in customs}:
                await self.api.get("/livez")

    async def _edited(self, after: Definition, writes: list[Write]) -> None:
        before, done = self.definition, asyncio.Event()
        untouched = {name: obj for name, obj in self.objects.items() if name not in {write.name for write in writes}}
        async with asyncio.TaskGroup() as group:
            for write in writes:
                group.create_task(self._write(write))
            for version in before.served:
                group.create_task(self._read(version, untouched, (before, after), done))
            if before.versions.keys() - after.versions.keys():
                stored = {"status": {"storedVersions": [before.storage]}}
                assert (await self.api.patch(f"{PLACE}/status", stored)).code == 200
            reply = await self.api.patch(PLACE, {"spec": {"versions": after.wire()}})
            assert reply.code == 200, reply.text
            await self._until_served(reply.json)
            done.set()
        self.definition = after
        for write in writes:
            self._settle(write, (before, after))

    async def _delete(self, writes: list[Write]) -> None:
        done = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for write in writes:
                group.create_task(self._write(write))
            for version in self.definition.served:
                group.create_task(self._read(version, {}, (self.definition, self.definition), done, goes=True))
            assert (await self.api.delete(PLACE)).code == 200
            async with asyncio.timeout(SECONDS):
                while (await self.api.get(PLACE)).code != 404 or [*self.api.running.registry.customs]:
                    pass
            done.set()
        assert all(write.code in {200, 201, 403, 404} for write in writes), writes
        assert self.api.running.registry.storage.store.count("/registry/example.com/") == 0

    async def _write(self, write: Write) -> None:
        for _ in range(write.turns):
            await asyncio.sleep(0)
        if write.before is None:
            reply = await self.api.post(here(write.version), widget(write.version, write.name, write.spec))
        else:
            reply = await self.api.patch(here(write.version, write.name), {"spec": write.spec})
        write.code = reply.code

    async def _read(
        self,
        version: str,
        objects: dict[str, StoredObject],
        states: tuple[Definition, Definition],
        done: asyncio.Event,
        *,
        goes: bool = False,
    ) -> None:
        """Read an object that nobody writes until an edit is done: it is shown as before or as after the edit."""
        readings = [
            {name: state.read(version, obj) for name, obj in objects.items()} for state in _that_serve(states, version)
        ]
        while not done.is_set():
            reply = await self.api.get(here(version))
            assert reply.code == 200 or (reply.code == 404 and (goes or len(readings) == 1)), reply.text
            if reply.code == 200 and not goes:
                stored = {each["metadata"]["name"]: each["spec"] for each in reply.json["items"]}
                assert {name: stored.get(name) for name in objects} in readings

    async def _settled(self, write: Write) -> None:
        """Do a write that nothing disturbs, and check the watch's event of it."""
        path, version = here(write.version), self.api.now
        async with self.api.watch(f"{path}?watch=1&resourceVersion={version}") as watched:
            await self._write(write)
            self._settle(write, (self.definition, self.definition))
            reply = await self.api.get(here(write.version, write.name))
            if int(reply.version) > version:  # else it changed nothing
                (event,) = await watched.take(1)
                assert event["object"] == reply.json
                assert event["type"] == ("ADDED" if write.before is None else "MODIFIED")

    def _settle(self, write: Write, states: tuple[Definition, Definition]) -> None:
        """Note what came of a write, which is one of what may have come of it."""
        if write.code == 404:
            assert len(_that_serve(states, write.version)) < 2, f"served all the time: {write}"
        else:
            assert write.code == (201 if write.before is None else 200), write
        kv = self.api.running.registry.storage.store.get(f"/registry/example.com/widgets/default/{write.name}")
        obj = json.loads(kv.value) if kv else None
        stored = StoredObject(obj["apiVersion"].rpartition("/")[2], obj["spec"]) if obj else None
        if write.code == 404:
            assert stored == write.before
        else:
            assert stored in write.outcomes(states), (stored, write)
        if stored:
            self.objects[write.name] = stored

    async def _check(self) -> None:
        for version in self.definition.served:
            expected = {name: self.definition.read(version, obj) for name, obj in self.objects.items()}
            listed = (await self.api.get(here(version))).json["items"]
            assert {each["metadata"]["name"]: each["spec"] for each in listed} == expected
            for each in listed:
                assert (await self.api.get(here(version, each["metadata"]["name"]))).json == each
            async with self.api.watch(f"{here(version)}?{INITIAL}") as watched:
                *arguments, bookmark = await watched.take(len(expected) + 1)
            assert [event["object"] for event in arguments] == listed
            assert bookmark["type"] == "BOOKMARK"
        for version in {*NAMES} - {*self.definition.served}:
            assert (await self.api.get(here(version))).code == 404


def _that_serve(states: tuple[Definition, Definition], version: str) -> list[Definition]:
    return [state for state in states if version in state.served]


def test_edits_of_a_definition_beside_writers_and_readers_behave_as_the_model(opened, caplog, monkeypatch):
    monkeypatch.setattr(crd_finalizer, "FIRST_CHECK", 0.002)
    run_state_machine_as_test(
        cast("type[Edits]", lambda: Edits(opened, caplog)),  # whatever makes a machine will do
        settings=settings(
            max_examples=20, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
