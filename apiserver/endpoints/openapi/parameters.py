"""The query parameters of operations: one row per name, and which verb takes which."""

from apiserver.endpoints.openapi.standard_parameters import PATCH_FIELD_MANAGER, STANDARD, Parameter

PARAMETERS = STANDARD | {
    "command": Parameter("string", "A word of the command to run; no shell takes part."),
    "container": Parameter("string", "The container meant; the only one, or the default one, when left out."),
    "follow": Parameter("boolean", "Keep the stream open and send what is logged from now on."),
    "insecureSkipTLSVerifyBackend": Parameter("boolean", "Do not verify the certificate of the node that has the log."),
    "limitBytes": Parameter("integer", "The largest number of bytes of log that is sent."),
    "path": Parameter("string", "The path of the request that is passed on."),
    "ports": Parameter("integer", "The ports to forward; needed over WebSockets."),
    "previous": Parameter("boolean", "Send the log of the container's previous instance."),
    "sinceSeconds": Parameter("integer", "Send what was logged in so many last seconds."),
    "stderr": Parameter("boolean", "Pass on the container's standard error."),
    "stdin": Parameter("boolean", "Pass on the client's standard input."),
    "stdout": Parameter("boolean", "Pass on the container's standard output."),
    "stream": Parameter("string", "Which stream of the log to send: All, Stdout or Stderr."),
    "tailLines": Parameter("integer", "Send so many last lines of the log."),
    "timestamps": Parameter("boolean", "Begin each line of the log with its time."),
    "tty": Parameter("boolean", "Give the call a terminal."),
}

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

STREAMS = ("container", "stderr", "stdin", "stdout", "tty")
SUBRESOURCES = {
    "attach": STREAMS,
    "exec": ("command", *STREAMS),
    "log": (
        "container",
        "follow",
        "insecureSkipTLSVerifyBackend",
        "limitBytes",
        "pretty",
        "previous",
        "sinceSeconds",
        "stream",
        "tailLines",
        "timestamps",
    ),
    "portforward": ("ports",),
    "proxy": ("path",),
}
"""Subresources that are no objects: their own parameters, in place of the verb's."""


def query_parameter(name: str, method: str) -> Parameter:
    """Return the row of a query parameter as an operation of some HTTP method has it."""
    return PATCH_FIELD_MANAGER if (name, method) == ("fieldManager", "patch") else PARAMETERS[name]


def path_parameter(name: str, kind: str) -> Parameter:
    """The description of a part of the path: {name}, {namespace} or {path}."""
    known = {"name": f"name of the {kind}", "namespace": "object name and auth scope, such as for teams and projects"}
    return Parameter("string", known.get(name, f"{name} to the resource"))
