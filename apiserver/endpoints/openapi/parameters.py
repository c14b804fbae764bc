"""The query parameters of operations: one row per name, and which verb takes which."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query or path parameter: its JSON type and what it is for."""

    type: str
    description: str


PARAMETERS = {
    "allowWatchBookmarks": Parameter(
        "boolean", "Ask a watch for events of type BOOKMARK. Ignored where nothing is watched."
    ),
    "command": Parameter("string", "A word of the command to run; no shell takes part."),
    "container": Parameter("string", "The container meant; the only one, or the default one, when left out."),
    "continue": Parameter("string", "The token of a previous list, with which its next page is asked for."),
    "dryRun": Parameter("string", "All: run every stage of the request but store nothing."),
    "fieldManager": Parameter(
        "string", "The name, of at most 128 printable characters, under which changed fields are owned."
    ),
    "fieldSelector": Parameter("string", "Restrict the objects by their fields. Defaults to everything."),
    "fieldValidation": Parameter(
        "string", "What becomes of unknown and duplicate fields: Ignore, Warn (the default) or Strict."
    ),
    "follow": Parameter("boolean", "Keep the stream open and send what is logged from now on."),
    "force": Parameter("boolean", "Take over fields in conflict. For apply requests only."),
    "gracePeriodSeconds": Parameter(
        "integer", "Seconds until the object is deleted; 0 is at once, none is the kind's default."
    ),
    "ignoreStoreReadErrorWithClusterBreakingPotential": Parameter("boolean", "Delete an object that cannot be read."),
    "insecureSkipTLSVerifyBackend": Parameter("boolean", "Do not verify the certificate of the node that has the log."),
    "labelSelector": Parameter("string", "Restrict the objects by their labels. Defaults to everything."),
    "limit": Parameter("integer", "The largest number of objects that a page may have."),
    "limitBytes": Parameter("integer", "The largest number of bytes of log that is sent."),
    "orphanDependents": Parameter("boolean", "Deprecated: use propagationPolicy."),
    "path": Parameter("string", "The path of the request that is passed on."),
    "ports": Parameter("integer", "The ports to forward; needed over WebSockets."),
    "pretty": Parameter("string", "Indent the answer when 'true'."),
    "previous": Parameter("boolean", "Send the log of the container's previous instance."),
    "propagationPolicy": Parameter("string", "What becomes of dependents: Orphan, Background or Foreground."),
    "resourceVersion": Parameter(
        "string", "The version that the answer must be at, or not older than, or begin after."
    ),
    "resourceVersionMatch": Parameter("string", "How resourceVersion is meant in a list: Exact or NotOlderThan."),
    "sendInitialEvents": Parameter("boolean", "Begin a watch with the present objects and a BOOKMARK after them."),
    "sinceSeconds": Parameter("integer", "Send what was logged in so many last seconds."),
    "stderr": Parameter("boolean", "Pass on the container's standard error."),
    "stdin": Parameter("boolean", "Pass on the client's standard input."),
    "stdout": Parameter("boolean", "Pass on the container's standard output."),
    "stream": Parameter("string", "Which stream of the log to send: All, Stdout or Stderr."),
    "tailLines": Parameter("integer", "Send so many last lines of the log."),
    "timeoutSeconds": Parameter("integer", "Seconds after which a list or watch ends, whatever happens."),
    "timestamps": Parameter("boolean", "Begin each line of the log with its time."),
    "tty": Parameter("boolean", "Give the call a terminal."),
    "watch": Parameter("boolean", "Send changes as a stream of events."),
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
    "timeoutSeconds",
    "watch",
)
READ = ("pretty",)
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


def path_parameter(name: str, kind: str) -> Parameter:
    """The description of a part of the path: {name}, {namespace} or {path}."""
    known = {"name": f"name of the {kind}", "namespace": "name of the namespace that holds the object"}
    return Parameter("string", known.get(name, f"{name} to the resource"))
