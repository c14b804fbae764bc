"""A webhook, and a server with configurations that name it."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hook_server import HookServer, certificates, hook_server

Obj = dict[str, Any]
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
EVERY_CONFIG_MAP: Obj = {
    "operations": ["*"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
}


@pytest.fixture(scope="session")
def hook_certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates(tmp_path_factory.mktemp("hook"))


@pytest.fixture
async def hook(hook_certificates: Path) -> AsyncIterator[HookServer]:
    async with hook_server(hook_certificates) as server:
        yield server


@dataclass(frozen=True)
class Registrar:
    """Registers the webhooks of one server."""

    api: Any
    server: HookServer

    def webhook(self, path: str, name: str = "", **fields: Any) -> Obj:
        """Return a webhook of a configuration, which is asked about ConfigMaps."""
        return {
            "name": name or f"{path.strip('/')}.example.com",
            "clientConfig": {"url": self.server.url + path, "caBundle": self.server.ca_bundle},
            "rules": [EVERY_CONFIG_MAP],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        } | fields

    async def register(self, kind: str, name: str, *webhooks: Obj) -> None:
        """Create a configuration; its kind is "validating" or "mutating"."""
        body = {"metadata": {"name": name}, "webhooks": list(webhooks)}
        reply = await self.api.post(f"{CONFIGURATIONS}/{kind}webhookconfigurations", body)
        assert reply.code == 201, reply.text
        assert "Warning" not in reply.headers

    async def validating(self, path: str, **fields: Any) -> None:
        """Register a validating webhook, in a configuration of its own."""
        await self.register("validating", path.strip("/"), self.webhook(path, **fields))

    async def mutating(self, path: str, **fields: Any) -> None:
        """Register a mutating webhook, in a configuration of its own."""
        await self.register("mutating", path.strip("/"), self.webhook(path, **fields))


@pytest.fixture
def hooks(api: Any, hook: HookServer) -> Registrar:
    return Registrar(api, hook)


@pytest.fixture
def config_map() -> Callable[..., Obj]:
    def make(name: str = "a", **fields: Any) -> Obj:
        return {"metadata": {"name": name}} | fields

    return make
