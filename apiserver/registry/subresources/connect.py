"""Logs, streams and proxies: where the kubelet is that answers, or why there is none (core/pod/strategy.go)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl

import orjson

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.field import FieldError
from apiserver.api.go_numbers import parse_int
from apiserver.api.meta import Obj
from apiserver.registry.subresources.call import Call, Location, read
from apiserver.registry.subresources.kubelet_location import kubelet_location

SIZES = ("limitBytes", "tailLines")
NUMBERS = (*SIZES, "sinceSeconds")
KUBELET_PATHS = {"attach": "attach", "exec": "exec", "portforward": "portForward"}
STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
"""Parameter → what kubelets call it."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


async def log(call: Call) -> Location | None:
    """Where the log of a container is; nowhere while no node runs the pod (core/pod's LogLocation).

    Raises:
        ApiError: 400, 404, 422; 500, the node has no address.
    """
    query = call.query
    found = list(_log_errors(query))
    if found:
        raise errors.invalid("", "PodLogOptions", name=call.target.name, errors=found)
    pod = await read(call)
    container = _container(pod, query.get("container", ""))
    node = pod["spec"].get("nodeName")
    if not node:
        return None
    wanted = [(name, "true") for name in ("follow", "previous", "timestamps") if is_true(query, name)]
    wanted += [(name, query[name]) for name in ("sinceSeconds", "sinceTime", *SIZES) if query.get(name)]
    if query.get("stream"):
        wanted.append(("stream", query["stream"]))
    path = f"/containerLogs/{call.target.namespace}/{call.target.name}/{container}"
    verified = not is_true(query, "insecureSkipTLSVerifyBackend")
    return await kubelet_location(call, node, path, wanted, upgrades=False, verified=verified)


async def stream(call: Call) -> Location:
    """Where commands, terminals and forwarded ports of a pod lead (core/pod's ExecLocation and its like).

    Raises:
        ApiError: 400, 404; 500, the node has no address.
    """
    kind, target = call.target.subresource, call.target
    wanted = _ports(call) if kind == "portforward" else _streams(call)
    pod = await read(call)
    path = f"/{KUBELET_PATHS[kind]}/{target.namespace}/{target.name}"
    if kind != "portforward":
        path += f"/{_container(pod, call.query.get('container', ''))}"
    node = pod["spec"].get("nodeName")
    if not node:
        raise errors.bad_request(f"pod {target.name} does not have a host assigned")
    return await kubelet_location(call, node, path, wanted, upgrades=True)


def _streams(call: Call) -> list[tuple[str, str]]:
    wanted = [(there, "1") for here, there in STREAMS.items() if is_true(call.query, here)]
    return wanted + [("command", word) for word in _all(call, "command") if call.target.subresource == "exec"]


def _ports(call: Call) -> list[tuple[str, str]]:
    texts = [text for value in _all(call, "ports") for text in value.split(",") if text]
    return [("port", ",".join(str(_number(text)) for text in texts))] if texts else []


def _all(call: Call, name: str) -> list[str]:
    """All values of a parameter that may stand several times."""
    return [value for known, value in parse_qsl(call.search, keep_blank_values=True) if known == name]


async def proxy(call: Call) -> Obj:
    """Requests to a pod, a service or a node, of which none is carried on yet.

    Raises:
        ApiError: 400, 404, 503; 501 where there is something to reach.
    """
    owner = await read(_without_port(call))
    match call.target.resource.plural:
        case "pods" if not (owner.get("status") or {}).get("podIP"):
            raise errors.bad_request("address not allowed")
        case "services":
            raise errors.unavailable(f'no endpoints available for service "{call.target.name}"')
    what = f"{call.target.resource.plural}/{call.target.subresource}"
    raise ApiError(501, "NotImplemented", f"{what} is not implemented by this server yet")


def is_true(query: Mapping[str, str], name: str) -> bool:
    """Whether a parameter is there and neither "0" nor "false" (conversion.Convert_Slice_string_To_bool)."""
    return query.get(name, "0").lower() not in ("0", "false")


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
    if query.get("sinceTime") and not _TIME.fullmatch(query["sinceTime"]):
        raise errors.bad_request(_no_time(query["sinceTime"]))
    if "sinceSeconds" in numbers and query.get("sinceTime"):
        yield field.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif numbers.get("sinceSeconds", 1) < 1:
        yield field.invalid("sinceSeconds", numbers["sinceSeconds"], "must be greater than 0")


def _no_time(text: str) -> str:
    quoted = orjson.dumps(text).decode()
    return f'parsing time {quoted} as "2006-01-02T15:04:05Z07:00": cannot parse {quoted} as "2006"'


def _number(text: str) -> int:
    """A number, or 400 with the words of Go's ParseInt."""
    try:
        return parse_int(text)
    except ValueError as error:
        raise errors.bad_request(str(error)) from error


def _container(pod: Obj, name: str) -> str:
    """The container that is meant; refused are one that the pod does not have, and none where it has several."""
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    known = [c["name"] for f in ("initContainers", "containers", "ephemeralContainers") for c in spec.get(f) or ()]
    if name and name not in known:
        raise errors.bad_request(f"container {name} is not valid for pod {pod_name}")
    if not name and len(spec["containers"]) > 1:
        choice = " ".join(known)
        raise errors.bad_request(f"a container name must be specified for pod {pod_name}, choose one of: [{choice}]")
    return name or str(spec["containers"][0]["name"])
