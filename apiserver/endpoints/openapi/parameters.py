"""The query parameters of each verb, and the description of each parameter."""

from apiserver.endpoints.openapi.connection_parameters import CONNECTIONS, LOG_OPTIONS
from apiserver.endpoints.openapi.standard_parameters import PATCH_FIELD_MANAGER, STANDARD, Parameter

LIST = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "pretty",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
)
READ = ("pretty",)
READ_CUSTOM = ("pretty", "resourceVersion")
WRITE = ("dryRun", "fieldManager", "fieldValidation", "pretty")
PATCH = ("dryRun", "fieldManager", "fieldValidation", "force", "pretty")
DELETE = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
)
DELETE_COLLECTION = tuple(sorted({*DELETE, *LIST} - {"allowWatchBookmarks", "watch"}))

LOG = tuple(sorted((*CONNECTIONS[LOG_OPTIONS], "pretty")))
"""The query parameters of a log, which is read and not connected to."""


def query_parameter(name: str, method: str, options: str) -> Parameter:
    """Return the row of a query parameter.

    Args:
        name: the parameter's name.
        method: the HTTP method of the operation.
        options: the kind of the options that the operation takes, if it is one of CONNECTIONS.
    """
    if (name, method) == ("fieldManager", "patch"):
        return PATCH_FIELD_MANAGER
    return CONNECTIONS.get(options, STANDARD).get(name) or STANDARD[name]


def path_parameter(name: str, kind: str) -> Parameter:
    """Return the description of a part of the path: {name}, {namespace} or {path}."""
    known = {"name": f"name of the {kind}", "namespace": "object name and auth scope, such as for teams and projects"}
    return Parameter("string", known.get(name, f"{name} to the resource"))
