"""The cached pods, the files of their containers, and the cancellation of what depends on a container that ends."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from apiserver.api.meta import Obj
from controller_manager.kubelet.container.container import Container
from controller_manager.kubelet.container.downward_api import PodEnvironment
from controller_manager.kubelet.container.files import Directory, Quota, content_size
from controller_manager.kubelet.container.rootfs import VolumeDirectory, new_container
from controller_manager.kubelet.container.runs import ContainerRun, container_of, current_run
from controller_manager.reconcile.contract import NAMESPACE_INDEX, Change
from controller_manager.reconcile.kinds import CLAIM, CONFIG_MAP, NODE, POD, SERVICE, Kind
from controller_manager.runtime.cache import Caches

MAX_POD_BYTES = 64 * 1024 * 1024
"""The maximum bytes of a pod's files."""
MAX_TOTAL_BYTES = 512 * 1024 * 1024
"""The maximum bytes of all files."""
MAX_CONTAINERS = 1000
"""The number of containers whose files are kept; beyond that, those least recently used start over."""

PodListener = Callable[[Obj | None], None]
"""Called with a pod that has changed, None if it is gone."""


class ContainerEndedError(Exception):
    """The container has ended, or its pod is gone."""


class PodStore:
    """The pods of a cluster, and the simulated state of their containers."""

    def __init__(self, listers: Caches, root_ca: str = "") -> None:
        self._listers = listers
        self._root_ca = root_ca
        self._quota = Quota(MAX_TOTAL_BYTES)
        self._quotas: dict[str, Quota] = {}
        self._containers: OrderedDict[tuple[str, str], tuple[str, Container]] = OrderedDict()
        self._volumes: dict[str, dict[str, Directory]] = {}
        self._claims: dict[str, Directory] = {}
        self._listeners: dict[str, set[PodListener]] = {}
        listers.get_or_create(POD).add_listener(self._pod_changed)
        if CLAIM in listers.kinds:
            listers.get_or_create(CLAIM).add_listener(self._claim_changed)

    def find(self, namespace: str, name: str) -> Obj | None:
        """Return a pod, None if there is none."""
        return self._listers[POD].get(f"{namespace}/{name}")

    def pod_environment(self, pod: Obj) -> PodEnvironment:
        """Return the lookups in the cluster for a pod's containers."""
        namespace = pod["metadata"].get("namespace", "")
        services = [] if SERVICE not in self._listers.kinds else list(self._services(pod, namespace))
        return PodEnvironment(
            config_map=lambda name: self._get(CONFIG_MAP, f"{namespace}/{name}"),
            services=services,
            node=self._get(NODE, pod["spec"].get("nodeName") or ""),
            root_ca=self._root_ca,
        )

    def container(self, pod: Obj, name: str, run: ContainerRun, now: float) -> Container:
        """Return a container with its files, which stay until it ends."""
        uid = pod["metadata"]["uid"]
        known = self._containers.get((uid, name))
        if known is not None and known[0] == run.id:
            self._containers.move_to_end((uid, name))
            return known[1]
        if known is not None:
            self._release(uid, known[1].files.root)
        quota = self._quotas.setdefault(uid, Quota(MAX_POD_BYTES, self._quota))
        container = self._new_container(pod, name, quota, now, kept=partial(self._volume_directory, pod))
        self._containers[uid, name] = (run.id, container)
        while len(self._containers) > MAX_CONTAINERS:
            (uid_of_oldest, _), (_, oldest) = self._containers.popitem(last=False)
            self._release(uid_of_oldest, oldest.files.root)
        return container

    def new_container(self, pod: Obj, name: str, now: float) -> Container:
        """Return a container as it starts, which is not stored: its volumes are its own, and empty."""
        return self._new_container(pod, name, Quota(MAX_POD_BYTES), now, kept=lambda _: Directory(mounted=True))

    def _new_container(self, pod: Obj, name: str, quota: Quota, now: float, *, kept: VolumeDirectory) -> Container:
        spec = container_of(pod, name)
        assert spec is not None
        return new_container(pod, spec, self.pod_environment(pod), quota=quota, kept=kept, now=now)

    @asynccontextmanager
    async def while_running(self, pod: Obj, name: str = "", run: ContainerRun | None = None) -> AsyncIterator[None]:
        """Cancel the body when the pod is gone, or when the run of a container has ended if one is given.

        Raises:
            ContainerEndedError: that happened.
        """
        loop = asyncio.get_running_loop()

        def on_change(now: Obj | None) -> None:
            is_running = now is not None and (run is None or current_run(now, name) == run)
            if not is_running and scope.when() is None:
                scope.reschedule(loop.time())

        try:
            async with asyncio.timeout(None) as scope:
                uid = pod["metadata"]["uid"]
                self._listeners.setdefault(uid, set()).add(on_change)
                try:
                    yield
                finally:
                    self._unlisten(uid, on_change)
        except TimeoutError:
            if not scope.expired():
                raise
            raise ContainerEndedError from None

    @asynccontextmanager
    async def changes(self, pod: Obj) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set whenever the pod changes or is gone."""
        event = asyncio.Event()

        def on_change(_: Obj | None) -> None:
            event.set()

        uid = pod["metadata"]["uid"]
        self._listeners.setdefault(uid, set()).add(on_change)
        try:
            yield event
        finally:
            self._unlisten(uid, on_change)

    def _unlisten(self, uid: str, on_change: PodListener) -> None:
        listeners = self._listeners[uid]
        listeners.discard(on_change)
        if not listeners:
            del self._listeners[uid]

    def _pod_changed(self, change: Change) -> None:
        uid = change.obj["metadata"].get("uid", "")
        listeners = self._listeners.get(uid)
        for on_change in list(listeners) if listeners else ():
            on_change(change.new)
        if change.new is None and uid in self._quotas:
            self._drop_pod(uid)

    def _drop_pod(self, uid: str) -> None:
        for key in [key for key in self._containers if key[0] == uid]:
            self._release(uid, self._containers.pop(key)[1].files.root)
        for volume in self._volumes.pop(uid, {}).values():
            self._release(uid, volume)
        del self._quotas[uid]

    def _release(self, uid: str, directory: Directory) -> None:
        self._quotas[uid].charge(-content_size(directory))

    def _claim_changed(self, change: Change) -> None:
        if change.new is None:
            directory = self._claims.pop(change.obj["metadata"].get("uid", ""), None)
            if directory is not None:
                self._quota.charge(-content_size(directory))

    def _volume_directory(self, pod: Obj, volume: Obj) -> Directory:
        """Return the directory of a volume: a claim's exists as long as the claim, others as long as the pod."""
        reference = volume.get("persistentVolumeClaim")
        if reference:
            claim = self._get(CLAIM, f"{pod['metadata'].get('namespace', '')}/{reference['claimName']}")
            if claim is not None:
                return self._claims.setdefault(claim["metadata"]["uid"], Directory(mounted=True))
        volumes = self._volumes.setdefault(pod["metadata"]["uid"], {})
        return volumes.setdefault(volume.get("name", ""), Directory(mounted=True))

    def _services(self, pod: Obj, namespace: str) -> list[Obj]:
        """Return the Services that a pod gets variables for: the API server's, and by default its namespace's."""
        kubernetes = self._get(SERVICE, "default/kubernetes")
        linked = pod["spec"].get("enableServiceLinks", True)
        own = self._listers[SERVICE].by_index(NAMESPACE_INDEX, namespace) if linked else ()
        return [*([kubernetes] if kubernetes else []), *own]

    def _get(self, kind: Kind, key: str) -> Obj | None:
        return self._listers[kind].get(key) if kind in self._listers.kinds else None
