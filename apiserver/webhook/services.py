"""The address of a Service for the server itself (k8s.io/apiserver/pkg/util/proxy/proxy.go, ResolveEndpoint).

A real API server dials the Service's cluster IP, and the network carries it to a pod. Here there is no such network: a
Service is reached at the address in its annotation, at its external name, or at an address of its EndpointSlices.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import orjson

from apiserver.api.meta import Obj
from etcd.store import KeyValue, Page

ENDPOINT = "mockube.io/endpoint"
"""The annotation of a Service with the HOST:PORT at which a process serves it."""
_SERVICE_NAME = "kubernetes.io/service-name"


class ResolveError(Exception):
    """A Service that cannot be reached; the message is upstream's."""


class Location(NamedTuple):
    """A host and a port to connect to."""

    host: str
    port: int


class Reader(Protocol):
    """The part of a store that has Services and EndpointSlices."""

    def get(self, key: str) -> KeyValue | None:
        """Return the newest state of a key."""
        ...

    def range(self, prefix: str) -> Page:
        """Return the newest state of all keys under a prefix."""
        ...


class ServiceResolver:
    """Resolves Services to addresses that this machine can connect to.

    Args:
        store: has the Services and EndpointSlices.
    """

    def __init__(self, store: Reader) -> None:
        self._store = store

    def resolve(self, namespace: str, name: str, port: int) -> Location:
        """Return the address that serves a port of a Service.

        Raises:
            ResolveError: there is no such Service or port, or nothing serves it.
        """
        kv = self._store.get(f"/registry/services/specs/{namespace}/{name}")
        if kv is None:
            raise ResolveError(f'service "{name}" not found')
        service: Obj = orjson.loads(kv.value)
        annotated = (service["metadata"].get("annotations") or {}).get(ENDPOINT)
        if annotated:
            return _annotated(name, annotated)
        spec = service.get("spec") or {}
        if spec.get("type") == "ExternalName":
            return Location(spec.get("externalName") or "", port)
        port_name = _port_name(name, spec, port)
        location = next(self._ready_endpoints(namespace, name, port_name), None)
        if location is None:
            raise ResolveError(f'no endpoints available for service "{name}"')
        return location

    def _ready_endpoints(self, namespace: str, name: str, port_name: str) -> Iterator[Location]:
        """Yield the ready addresses of a Service's port, in the order of its slices (RandomEndpoint takes any)."""
        for kv in self._store.range(f"/registry/endpointslices/{namespace}/").items:
            if kv.index_attrs.labels.get(_SERVICE_NAME) != name:
                continue
            endpoint_slice: Obj = orjson.loads(kv.value)
            for port in endpoint_slice.get("ports") or ():
                if (port.get("name") or "") != port_name or port.get("port") is None:
                    continue
                for endpoint in endpoint_slice.get("endpoints") or ():
                    if (endpoint.get("conditions") or {}).get("ready") is not False:
                        yield Location(endpoint["addresses"][0], port["port"])


def _annotated(name: str, text: str) -> Location:
    host, _, port = text.removeprefix("https://").rstrip("/").rpartition(":")
    if not host or not port.isdecimal():
        raise ResolveError(f'the annotation {ENDPOINT} of service "{name}" is not HOST:PORT: "{text}"')
    return Location(host.removeprefix("[").removesuffix("]"), int(port))


def _port_name(name: str, spec: Obj, port: int) -> str:
    """Return the name of a Service's port (findServicePort)."""
    for each in spec.get("ports") or ():
        if each.get("port") == port:
            return each.get("name") or ""
    raise ResolveError(f'no service port {port} found for service "{name}"')
