import asyncio

import pytest

SECRETS = "/api/v1/namespaces/n/secrets"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


async def test_a_deleted_namespace_goes_with_all_that_is_in_it(client, namespace):
    for number in range(100):
        await client.do(f"POST {SECRETS}", {"metadata": {"name": f"s{number}"}})
    await client.do(f"POST {namespace}/pods", POD)
    await client.do(f"POST {namespace}/pods/p/binding", {"metadata": {"name": "p"}, "target": {"name": "node"}})
    answer = await client.do(f"DELETE {namespace}")
    assert answer["status"]["phase"] == "Terminating"
    await client.until_gone(namespace)
    assert (await client.do("GET /api/v1/secrets"))["items"] == []
    assert (await client.do("GET /api/v1/pods"))["items"] == []


async def test_a_namespace_says_what_it_waits_for(client, namespace):
    held = {"metadata": {"name": "s", "finalizers": ["example.com/hold"]}}
    await client.do(f"POST {SECRETS}", held)
    version = (await client.do(f"DELETE {namespace}"))["metadata"]["resourceVersion"]
    watch = f"/api/v1/namespaces?watch=1&resourceVersion={version}&timeoutSeconds=20"
    async with client.session.get(watch) as answer:
        await answer.content.readline()
    conditions = (await client.do(f"GET {namespace}"))["status"]["conditions"]
    messages = {c["type"]: c["message"] for c in conditions if c["status"] == "True"}
    assert messages == {
        "NamespaceContentRemaining": "Some resources are remaining: secrets. has 1 resource instances",
        "NamespaceFinalizersRemaining": "Some content in the namespace has finalizers remaining: "
        "example.com/hold in 1 resource instances",
    }
    await client.patch(f"{SECRETS}/s", {"metadata": {"finalizers": None}})
    await client.until_gone(namespace)


def definition(number):
    plural = f"widgets{number}"
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]
    names = {"plural": plural, "kind": f"Widget{number}"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": f"{plural}.example.com"}, "spec": spec}


async def test_a_namespace_is_emptied_while_custom_kinds_come(client, namespace, caplog):
    for plural in ("configmaps", "secrets", "serviceaccounts", "limitranges", "resourcequotas"):
        for number in range(20):
            await client.do(f"POST {namespace}/{plural}", {"metadata": {"name": f"n{number}"}})
    definitions = "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    comings = [client.do(definitions, definition(number)) for number in range(30)]
    await asyncio.gather(client.do(f"DELETE {namespace}"), *comings)
    await client.until_gone(namespace)
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_the_systems_namespaces_stay(client, name):
    assert (await client.ask(f"DELETE /api/v1/namespaces/{name}"))[0] == 403


async def test_only_finalize_changes_the_finalizers_of_a_namespace(client, namespace):
    kept = await client.patch(namespace, {"spec": {"finalizers": []}})
    assert kept["spec"]["finalizers"] == ["kubernetes"]
    kept["spec"]["finalizers"] = ["kubernetes", "example.com/more"]
    more = await client.do(f"PUT {namespace}/finalize", kept)
    assert more["spec"]["finalizers"] == ["kubernetes", "example.com/more"]
    await client.do(f"DELETE {namespace}")
    status, answer = await client.ask(f"PUT {namespace}/finalize", more | {"spec": {"finalizers": []}})
    assert status in (200, 409), answer


async def test_old_events_are_forgotten(client, namespace):
    about = {"involvedObject": {"namespace": "n"}, "metadata": {"name": "e"}}
    await client.do(f"POST {namespace}/events", about)
    await client.until_gone(f"{namespace}/events/e")
