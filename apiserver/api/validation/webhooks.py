"""Validation of a webhook's URL or Service (k8s.io/apiserver/pkg/util/webhook/validation.go)."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.golang.urls import UrlError, parse_url
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names

_URL_FORM = "; desired format: https://host[/path]"


def webhook_url(url: str) -> Iterator[FieldError]:
    """Yield the errors of the URL of a webhook (pkg/util/webhook.ValidateWebhookURL)."""
    try:
        parsed = parse_url(url)
    except UrlError as error:
        yield field.required("url", f"url must be a valid URL: {error}{_URL_FORM}")
        return
    if parsed.scheme != "https":
        yield field.invalid("url", parsed.scheme, f"'https' is the only allowed URL scheme{_URL_FORM}")
    if not parsed.host:
        yield field.invalid("url", "", f"host must be specified{_URL_FORM}")
    if parsed.user is not None:
        yield field.invalid("url", parsed.user, "user information is not permitted in the URL")
    if parsed.fragment:
        yield field.invalid("url", parsed.fragment, "fragments are not permitted in the URL")
    if parsed.query:
        yield field.invalid("url", parsed.query, "query parameters are not permitted in the URL")


def webhook_service(service: Obj) -> Iterator[FieldError]:
    """Yield the errors of the Service of a webhook (pkg/util/webhook.ValidateWebhookService)."""
    port, path = service.get("port", 443), service.get("path")
    yield from checks.required("name", service.get("name"))
    yield from checks.required("namespace", service.get("namespace"))
    if messages := names.port_number(port):
        yield field.invalid("port", port, f"port is not valid: {', '.join(messages)}")
    if path in {None, "", "/"}:
        return
    if path == "//":
        yield field.invalid("path", path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        yield field.invalid("path", path, "must start with a '/'")
    for index, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            yield field.invalid("path", path, f"segment[{index}] may not be empty")
            continue
        for message in names.dns1123_subdomain(step):
            yield field.invalid("path", path, f"segment[{index}]: {message}")
