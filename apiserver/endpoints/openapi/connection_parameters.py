"""The query parameters of logs and connections, by the options that they belong to (core/v1's SwaggerDoc)."""

from collections.abc import Mapping

from apiserver.endpoints.openapi.standard_parameters import Parameter

LOG_OPTIONS = "PodLogOptions"
CONNECTIONS: Mapping[str, Mapping[str, Parameter]] = {
    "NodeProxyOptions": {
        "path": Parameter(
            "string",
            "Path is the URL path to use for the current proxy request to node.",
        ),
    },
    "PodAttachOptions": {
        "container": Parameter(
            "string",
            "The container in which to execute the command. Defaults to only container if there is only one "
            "container in the pod.",
        ),
        "stderr": Parameter(
            "boolean",
            "Stderr if true indicates that stderr is to be redirected for the attach call. Defaults to true.",
        ),
        "stdin": Parameter(
            "boolean",
            "Stdin if true, redirects the standard input stream of the pod for this call. Defaults to false.",
        ),
        "stdout": Parameter(
            "boolean",
            "Stdout if true indicates that stdout is to be redirected for the attach call. Defaults to true.",
        ),
        "tty": Parameter(
            "boolean",
            "TTY if true indicates that a tty will be allocated for the attach call. This is passed through the "
            "container runtime so the tty is allocated on the worker node by the container runtime. Defaults to "
            "false.",
        ),
    },
    "PodExecOptions": {
        "command": Parameter(
            "string",
            "Command is the remote command to execute. argv array. Not executed within a shell.",
        ),
        "container": Parameter(
            "string",
            "Container in which to execute the command. Defaults to only container if there is only one container "
            "in the pod.",
        ),
        "stderr": Parameter(
            "boolean",
            "Redirect the standard error stream of the pod for this call.",
        ),
        "stdin": Parameter(
            "boolean",
            "Redirect the standard input stream of the pod for this call. Defaults to false.",
        ),
        "stdout": Parameter(
            "boolean",
            "Redirect the standard output stream of the pod for this call.",
        ),
        "tty": Parameter(
            "boolean",
            "TTY if true indicates that a tty will be allocated for the exec call. Defaults to false.",
        ),
    },
    LOG_OPTIONS: {
        "container": Parameter(
            "string",
            "The container for which to stream logs. Defaults to only container if there is one container in the pod.",
        ),
        "follow": Parameter(
            "boolean",
            "Follow the log stream of the pod. Defaults to false.",
        ),
        "insecureSkipTLSVerifyBackend": Parameter(
            "boolean",
            "insecureSkipTLSVerifyBackend indicates that the apiserver should not confirm the validity of the "
            "serving certificate of the backend it is connecting to.  This will make the HTTPS connection between "
            "the apiserver and the backend insecure. This means the apiserver cannot verify the log data it is "
            "receiving came from the real kubelet.  If the kubelet is configured to verify the apiserver's TLS "
            "credentials, it does not mean the connection to the real kubelet is vulnerable to a man in the middle "
            "attack (e.g. an attacker could not intercept the actual log data coming from the real kubelet).",
        ),
        "limitBytes": Parameter(
            "integer",
            "If set, the number of bytes to read from the server before terminating the log output. This may not "
            "display a complete final line of logging, and may return slightly more or slightly less than the "
            "specified limit.",
        ),
        "previous": Parameter(
            "boolean",
            "Return previous terminated container logs. Defaults to false.",
        ),
        "sinceSeconds": Parameter(
            "integer",
            "A relative time in seconds before the current time from which to show logs. If this value precedes "
            "the time a pod was started, only logs since the pod start will be returned. If this value is in the "
            "future, no logs will be returned. Only one of sinceSeconds or sinceTime may be specified.",
        ),
        "stream": Parameter(
            "string",
            'Specify which container log stream to return to the client. Acceptable values are "All", "Stdout" '
            'and "Stderr". If not specified, "All" is used, and both stdout and stderr are returned '
            'interleaved. Note that when "TailLines" is specified, "Stream" can only be set to nil or "All".',
        ),
        "tailLines": Parameter(
            "integer",
            "If set, the number of lines from the end of the logs to show. If not specified, logs are shown from "
            'the creation of the container or sinceSeconds or sinceTime. Note that when "TailLines" is '
            'specified, "Stream" can only be set to nil or "All".',
        ),
        "timestamps": Parameter(
            "boolean",
            "If true, add an RFC3339 or RFC3339Nano timestamp at the beginning of every line of log output. "
            "Defaults to false.",
        ),
    },
    "PodPortForwardOptions": {
        "ports": Parameter(
            "integer",
            "List of ports to forward Required when using WebSockets",
        ),
    },
    "PodProxyOptions": {
        "path": Parameter(
            "string",
            "Path is the URL path to use for the current proxy request to pod.",
        ),
    },
    "ServiceProxyOptions": {
        "path": Parameter(
            "string",
            "Path is the part of URLs that include service endpoints, suffixes, and parameters to use for the "
            "current proxy request to service. For example, the whole request URL is "
            "http://localhost/api/v1/namespaces/kube-system/services/elasticsearch-logging/_search?q=user:kimchy. "
            "Path is _search?q=user:kimchy.",
        ),
    },
}
"""Kind of the options → name → parameter; its names are those that the operation takes."""
