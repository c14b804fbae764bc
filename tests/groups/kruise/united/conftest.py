"""A server's admission of UnitedDeployments."""

import pytest
from kruise_admission import refusal, row

from apiserver.admission.united_deployment import UnitedDeployments
from apiserver.api.user import User
from apiserver.registry.admission import Attributes, Chain, Operation
from apiserver.registry.options import Target


@pytest.fixture(scope="module")
def admit(schema):
    """admit(object, old object): changes an object as the server would, or raises."""
    chain = Chain([UnitedDeployments(schema)])

    async def run(obj, old=None, *, subresource=""):
        target = Target(row("UnitedDeployment"), "ns", "web", subresource)
        operation: Operation = "CREATE" if old is None else "UPDATE"
        await chain.admit(Attributes(operation, target, User("u"), obj=obj, old=old))

    return run


@pytest.fixture
def admitted(admit):
    """admitted(spec, old spec): the spec that is stored, or raises."""

    async def run(spec, old=None, **more):
        obj, stored = (
            {"metadata": {"name": "web"}, "spec": each} if each is not None else None for each in (spec, old)
        )
        await admit(obj, stored, **more)
        assert obj is not None
        return obj["spec"]

    return run


@pytest.fixture
def refused(admitted):
    """refused(spec, old spec): the fields that are wrong, with why."""

    async def refuse(spec, old=None):
        return await refusal(admitted(spec, old), old)

    return refuse
