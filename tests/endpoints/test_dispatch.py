"""Routing of a method and a path does not depend on earlier requests, and names take no memory."""

import itertools
from typing import Any

import pytest

from apiserver.api.errors import ApiError
from apiserver.api.resources import Resource, ResourceTable, Subresource
from apiserver.endpoints.routes import Route, Router
from apiserver.endpoints.server import MAX_CACHED_PATH, MAX_RECENT_PATHS, MAX_TEMPLATES, RouteCache
from apiserver.release import load_release

PODS = "/api/v1/namespaces/default/pods"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "BREW")
PREFIXES = (
    "/api/v1",
    "/api/v1/watch",
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/namespaces",
    "/api/v1/namespaces/a",
    "/api/v1/namespaces/a/pods",
    "/api/v1/namespaces/a%2Fpods",
    "/api/v1/namespaces/a/pods/x",
    "/api/v1/namespaces/a/pods/x%2Fstatus",
    "/api/v1/namespaces/a/pods/x/proxy",
    "/api/v1/namespaces/a/namespaces",
    "/api/v1/watch/namespaces/a/pods",
    "/apis/apps/v1/namespaces/a/deployments",
    "/apis/apps/v1/namespaces/a/deployments/web",
    "/apis/example.com/v1/namespaces/a/widgets",
    "/apis/example.com/v1/namespaces/a/widgets/x",
    "/apis/example.com/v1/widgets",
    "//api/v1/namespaces/a/pods",
    "/readyz",
)
ENDS = ("", "/", *(f"/{last}" for last in ("a", "b", "..", ".", "...", "%61", "a%2Fstatus", "%25", "pods", "watch")))
BELOW = (
    "",
    "/",
    "/status",
    "/finalize",
    "/scale",
    "/log",
    "/proxy",
    "/proxy/a/proxy",
    "/proxy/b/proxy",
    "/%73tatus",
    "/nothing",
)
PATHS = [prefix + end + below for prefix, end, below in itertools.product(PREFIXES, ENDS, BELOW)]


@pytest.fixture(scope="module")
def table() -> ResourceTable:
    """All rows of the newest release, and one of a definition."""
    status = Subresource("status", ("get", "patch", "update"), "Widget", "example.com", "v1")
    widgets = Resource(
        group="example.com",
        version="v1",
        kind="Widget",
        plural="widgets",
        singular="widget",
        namespaced=True,
        definition="",
        storage_group="example.com",
        storage_version="v1",
        storage_prefix="example.com/widgets",
        custom=True,
        subresources={"status": status},
    )
    return ResourceTable([*load_release("1.37").rows, widgets])


class CountingRouter(Router):
    """A router that counts the paths that it splits."""

    splits = 0

    def route(self, path: str) -> Route | None:
        self.splits += 1
        return super().route(path)


def meaning(dispatch: RouteCache, method: str, path: str) -> Any:
    """Return what a method on a path means, or how it is refused."""
    try:
        bound = dispatch.match(method, path)
    except ApiError as error:
        return error.code, error.message
    return bound and (bound.target, bound.action.verb, bound.labels, bound.watch)


@pytest.mark.parametrize("method", METHODS)
def test_what_a_path_means_does_not_depend_on_the_paths_before_it(table: ResourceTable, method: str) -> None:
    used = RouteCache(Router(table))
    for path in (*PATHS, *reversed(PATHS)):
        assert meaning(used, method, path) == meaning(RouteCache(Router(table)), method, path), path


@pytest.mark.parametrize(("method", "below"), [("GET", ""), ("DELETE", ""), ("PATCH", "/status"), ("POST", "/binding")])
def test_a_path_is_split_once_for_all_names_in_a_collection(table: ResourceTable, method: str, below: str) -> None:
    router = CountingRouter(table)
    dispatch = RouteCache(router)
    for number in range(2 * MAX_RECENT_PATHS):
        bound = dispatch.match(method, f"{PODS}/p{number}{below}")
        assert bound is not None
        assert bound.target.name == f"p{number}"
    assert router.splits == 1


@pytest.mark.parametrize("below", ["", "/a", "/a/status"])
def test_a_path_that_comes_again_is_not_split_again(table: ResourceTable, below: str) -> None:
    router = CountingRouter(table)
    dispatch = RouteCache(router)
    assert dispatch.match("GET", f"{PODS}{below}") is dispatch.match("GET", f"{PODS}{below}")
    assert router.splits == 1


@pytest.mark.parametrize("below", ["", "/a", "/a/status"])
def test_a_server_with_many_namespaces_remembers_so_many_of_them_and_no_more(table: ResourceTable, below: str) -> None:
    dispatch = RouteCache(Router(table))
    for number in range(MAX_TEMPLATES + 1):
        assert dispatch.match("GET", f"/api/v1/namespaces/n{number}/pods{below}") is not None
    assert len(dispatch._recent) <= MAX_RECENT_PATHS
    assert len(dispatch._templates) <= MAX_TEMPLATES


def test_a_path_that_is_too_long_is_not_remembered(table: ResourceTable) -> None:
    dispatch = RouteCache(Router(table))
    assert dispatch.match("GET", f"{PODS}/{'a' * MAX_CACHED_PATH}") is not None
    assert not dispatch._recent
    assert not dispatch._templates


def test_a_path_of_a_row_that_is_gone_leads_nowhere(table: ResourceTable) -> None:
    rows = ResourceTable(table)
    dispatch = RouteCache(Router(rows))
    paths = [f"/apis/example.com/v1/namespaces/a/widgets{below}" for below in ("", "/a", "/a/status")]
    assert all(dispatch.match("GET", path) for path in paths)
    gone = rows.find("example.com", "v1", "widgets")
    assert gone is not None
    rows.remove(gone)
    dispatch.invalidate()
    assert not any(dispatch.match("GET", path) for path in paths)
