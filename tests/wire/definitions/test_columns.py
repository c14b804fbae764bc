"""Tables show custom objects by the definition's columns, on a running server."""

import asyncio

from patience import SECONDS

TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HERE = "/apis/example.com/v1/namespaces/default/widgets"
SIZE = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
COLOUR = {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "priority": 1}


def widget(name, **spec):
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def shown(table):
    """Names of the columns, and the cells of all rows."""
    return [column["name"] for column in table["columnDefinitions"]], [row["cells"] for row in table["rows"]]


async def test_a_table_has_the_columns_of_the_definition(api, customs):
    await customs.define(version={"additionalPrinterColumns": [SIZE, COLOUR]})
    for name, spec in (("a", {"size": 3, "colour": "red"}), ("b", {})):
        await api.post(HERE, widget(name, **spec))
    listed = (await api.get(HERE, **TABLE)).json
    assert shown(listed) == (["Name", "Size", "Colour"], [["a", 3, "red"], ["b", None, None]])
    assert [column["priority"] for column in listed["columnDefinitions"]] == [0, 0, 1]
    assert listed["columnDefinitions"][0]["description"].startswith("Name must be unique")


async def test_without_columns_a_table_has_the_age(api, customs):
    await customs.define()
    await api.post(HERE, widget("a"))
    names, rows = shown((await api.get(f"{HERE}/a", **TABLE)).json)
    assert names == ["Name", "Age"]
    assert rows[0][0] == "a"
    assert rows[0][1].endswith("s")


async def test_columns_that_change_are_seen_of_objects_that_do_not(api, customs):
    made = await customs.define(version={"additionalPrinterColumns": [SIZE]})
    await api.post(HERE, widget("a", size=3, colour="red"))
    assert shown((await api.get(HERE, **TABLE)).json) == (["Name", "Size"], [["a", 3]])
    version = made["spec"]["versions"][0] | {"additionalPrinterColumns": [COLOUR]}
    path = f"{CRDS}/widgets.example.com"
    assert (await api.patch(path, {"spec": {"versions": [version]}})).code == 200
    async with asyncio.timeout(SECONDS):
        while shown(table := (await api.get(HERE, **TABLE)).json)[0] == ["Name", "Size"]:
            pass
    assert shown(table) == (["Name", "Colour"], [["a", "red"]])


async def test_a_watch_of_tables_shows_the_cells_of_what_comes(api, customs):
    await customs.define(version={"additionalPrinterColumns": [SIZE]})
    async with api.watch(f"{HERE}?watch=1", **TABLE) as watched:
        await api.post(HERE, widget("a", size=3))
        events = await watched.take(1)
    assert shown(events[0]["object"]) == (["Name", "Size"], [["a", 3]])
