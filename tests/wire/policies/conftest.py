"""A server with admission policies, and ConfigMaps that they are about."""

from dataclasses import dataclass
from typing import Any

import pytest

Obj = dict[str, Any]
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
EVERY_CONFIG_MAP: Obj = {
    "resourceRules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
}


@dataclass(frozen=True)
class Policies:
    """Writes policies and bindings, and ConfigMaps to try them with."""

    api: Any

    async def policy(self, name: str = "p", **spec: Any) -> Any:
        """Create a policy for ConfigMaps, and return the answer."""
        body = {"metadata": {"name": name}, "spec": {"matchConstraints": EVERY_CONFIG_MAP} | spec}
        return await self.api.post(f"{REGISTRATION}/validatingadmissionpolicies", body)

    async def bind(self, name: str = "b", policy: str = "p", **spec: Any) -> None:
        """Create a binding that denies, if nothing else is said."""
        body = {"metadata": {"name": name}, "spec": {"policyName": policy, "validationActions": ["Deny"]} | spec}
        reply = await self.api.post(f"{REGISTRATION}/validatingadmissionpolicybindings", body)
        assert reply.code == 201, reply.text
        assert "Warning" not in reply.headers

    async def bound(self, *expressions: str, **spec: Any) -> None:
        """Create a policy of these validations with a binding."""
        validations = [{"expression": each} for each in expressions]
        reply = await self.policy(**({"validations": validations} | spec))
        assert reply.code == 201, reply.text
        assert "Warning" not in reply.headers
        await self.bind()

    async def create(self, name: str = "a", path: str = MAPS, **fields: Any) -> Any:
        """Create a ConfigMap, and return the answer."""
        return await self.api.post(path, {"metadata": {"name": name}} | fields)


@pytest.fixture
def policies(api: Any) -> Policies:
    return Policies(api)
