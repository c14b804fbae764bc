"""Logs, streams and proxies: what is told of pods that no node runs; this server reaches no kubelet."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import orjson

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.registry.subresources.call import Call, read

NUMBERS = ("limitBytes", "sinceSeconds", "tailLines")


async def log(call: Call) -> None:
    """The log of a container: nothing while no node runs the pod (registry/core/pod's LogLocation).

    Raises:
        ApiError: 400, 404, 422; 501 once a node has the pod.
    """
    found = list(_log_errors(call.query))
    if found:
        raise errors.invalid("", "PodLogOptions", name=call.target.name, errors=found)
    pod = await read(call)
    _container(pod, call.query.get("container", ""))
    if pod["spec"].get("nodeName"):
        raise unreachable(call)


async def stream(call: Call) -> Obj:
    """Commands, terminals and forwarded ports of a container.

    Raises:
        ApiError: 400, 404; 501 once a node has the pod.
    """
    pod = await read(call)
    if call.target.subresource != "portforward":
        _container(pod, call.query.get("container", ""))
    if not pod["spec"].get("nodeName"):
        raise errors.bad_request(f"pod {call.target.name} does not have a host assigned")
    raise unreachable(call)


async def proxy(call: Call) -> Obj:
    """Requests to a pod, a service or a node.

    Raises:
        ApiError: 400, 404, 503; 501 where there is something to reach.
    """
    owner = await read(_without_port(call))
    match call.target.resource.plural:
        case "pods" if not (owner.get("status") or {}).get("podIP"):
            raise errors.bad_request("address not allowed")
        case "services":
            raise errors.unavailable(f'no endpoints available for service "{call.target.name}"')
    raise unreachable(call)


def unreachable(call: Call) -> ApiError:
    """501: there is somebody to ask, and this server cannot."""
    target = call.target
    what = f"{target.resource.plural}/{target.subresource}"
    return ApiError(501, "NotImplemented", f"{what} is not implemented by this server yet: it reaches no node")


def _without_port(call: Call) -> Call:
    """The call, its name without the scheme and the port that a proxy's name may have ([SCHEME:]NAME[:PORT])."""
    parts = call.target.name.split(":")
    if len(parts) == 1:
        return call
    kind = call.target.resource.singular
    if len(parts) > 3 or (len(parts) == 3 and parts[0] not in ("", "http", "https")):
        raise errors.bad_request(f'invalid {kind} request "{call.target.name}"')
    return replace(call, target=replace(call.target, name=parts[1 if len(parts) == 3 else 0]))


def _log_errors(query: Mapping[str, str]) -> Iterable[FieldError]:
    """ValidatePodLogOptions, after the numbers are read."""
    numbers = {name: _number(query[name]) for name in NUMBERS if query.get(name)}
    if numbers.get("tailLines", 0) < 0:
        yield field.invalid("tailLines", numbers["tailLines"], "must be greater than or equal to 0")
    if numbers.get("limitBytes", 1) < 1:
        yield field.invalid("limitBytes", numbers["limitBytes"], "must be greater than 0")
    if "sinceSeconds" in numbers and query.get("sinceTime"):
        yield field.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif numbers.get("sinceSeconds", 1) < 1:
        yield field.invalid("sinceSeconds", numbers["sinceSeconds"], "must be greater than 0")


def _number(text: str) -> int:
    """A number, or 400 with the words of Go's ParseInt."""
    digits = text.removeprefix("-").removeprefix("+")
    if digits.isascii() and digits.isdigit():
        return int(text)
    quoted = orjson.dumps(text).decode()
    raise errors.bad_request(f"strconv.ParseInt: parsing {quoted}: invalid syntax")


def _container(pod: Obj, name: str) -> None:
    """Refuse a container that the pod does not have, and none where it has several."""
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    known = [c["name"] for f in ("initContainers", "containers", "ephemeralContainers") for c in spec.get(f) or ()]
    if name and name not in known:
        raise errors.bad_request(f"container {name} is not valid for pod {pod_name}")
    if not name and len(spec["containers"]) > 1:
        choice = " ".join(known)
        raise errors.bad_request(f"a container name must be specified for pod {pod_name}, choose one of: [{choice}]")
