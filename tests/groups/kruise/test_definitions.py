"""The definitions of OpenKruise's workloads: accepted by the server that makes them, and served as upstream's are."""

import pytest

from apiserver.app import serving
from apiserver.config import Config
from apiserver.registry.bootstrap.kruise import definitions
from apiserver.registry.validation import validate_create

CREATED = (".metadata.creationTimestamp", "date", 0)
NUMBER = ("integer", 0)
COLUMNS = {
    "clonesets": {
        "DESIRED": (".spec.replicas", *NUMBER),
        "UPDATED": (".status.updatedReplicas", *NUMBER),
        "UPDATED_READY": (".status.updatedReadyReplicas", *NUMBER),
        "UPDATED_AVAILABLE": (".status.updatedAvailableReplicas", *NUMBER),
        "READY": (".status.readyReplicas", *NUMBER),
        "TOTAL": (".status.replicas", *NUMBER),
        "AGE": CREATED,
        "CONTAINERS": (".spec.template.spec.containers[*].name", "string", 1),
        "IMAGES": (".spec.template.spec.containers[*].image", "string", 1),
        "SELECTOR": (".status.labelSelector", "string", 1),
    },
    "statefulsets": {
        "DESIRED": (".spec.replicas", *NUMBER),
        "CURRENT": (".status.replicas", *NUMBER),
        "UPDATED": (".status.updatedReplicas", *NUMBER),
        "READY": (".status.readyReplicas", *NUMBER),
        "AGE": CREATED,
        "CONTAINERS": (".spec.template.spec.containers[*].name", "string", 1),
        "IMAGES": (".spec.template.spec.containers[*].image", "string", 1),
    },
    "uniteddeployments": {
        "DESIRED": (".spec.replicas", *NUMBER),
        "CURRENT": (".status.replicas", *NUMBER),
        "UPDATED": (".status.updatedReplicas", *NUMBER),
        "READY": (".status.readyReplicas", *NUMBER),
        "AGE": CREATED,
    },
}
SHORT = {"clonesets": ["clone"], "statefulsets": ["sts", "asts"], "uniteddeployments": ["ud"]}


@pytest.mark.parametrize("definition", definitions(), ids=lambda definition: definition["spec"]["names"]["plural"])
def test_names_versions_and_columns_are_upstreams(definition):
    spec, plural = definition["spec"], definition["spec"]["names"]["plural"]
    assert spec["names"]["shortNames"] == SHORT[plural]
    assert {v["name"]: (v["served"], v["storage"]) for v in spec["versions"]} == {
        "v1alpha1": (True, False),
        "v1beta1": (True, True),
    }
    for version in spec["versions"]:
        columns = version["additionalPrinterColumns"]
        shown = {each["name"]: (each["jsonPath"], each["type"], each.get("priority", 0)) for each in columns}
        assert list(shown.items()) == list(COLUMNS[plural].items())
        assert version["subresources"]["scale"] == {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.labelSelector",
        }

    conversion = spec["conversion"]
    assert (conversion["strategy"], conversion["webhook"]["clientConfig"]["service"]["path"]) == ("Webhook", "/convert")


def fields(plural, version, *path):
    """The fields of a part of a version's schema."""
    definition = next(each for each in definitions() if each["spec"]["names"]["plural"] == plural)
    schemas = {each["name"]: each["schema"]["openAPIV3Schema"] for each in definition["spec"]["versions"]}
    part = schemas[version]
    for name in path:
        part = part["properties"][name]
    return set(part["properties"])


@pytest.mark.parametrize(
    ("plural", "path", "old", "new"),
    [
        ("clonesets", ["spec"], set(), set()),
        (
            "clonesets",
            ["spec", "updateStrategy"],
            {
                "inPlaceUpdateStrategy",
                "maxSurge",
                "maxUnavailable",
                "partition",
                "paused",
                "priorityStrategy",
                "scatterStrategy",
            },
            {"rollingUpdate"},
        ),
        ("clonesets", ["spec", "scaleStrategy"], {"disablePVCReuse"}, {"enablePVCReuse", "excludePreparingDelete"}),
        ("clonesets", ["status"], set(), set()),
        (
            "statefulsets",
            ["spec"],
            set(),
            {
                "lifecycle",
                "ordinals",
                "persistentVolumeClaimRetentionPolicy",
                "reserveOrdinals",
                "scaleStrategy",
                "volumeClaimUpdateStrategy",
            },
        ),
        ("statefulsets", ["spec", "updateStrategy", "rollingUpdate"], set(), set()),
        ("statefulsets", ["status"], set(), {"updatedAvailableReplicas", "updatedReadyReplicas", "volumeClaims"}),
        ("uniteddeployments", ["spec"], set(), set()),
        ("uniteddeployments", ["spec", "template", "cloneSetTemplate", "spec", "updateStrategy"], set(), set()),
        ("uniteddeployments", ["status"], {"subsetReplicas", "updateStatus"}, {"updatedRevision"}),
    ],
)
def test_versions_differ_as_upstreams_do(plural, path, old, new):
    former, latest = (fields(plural, version, *path) for version in ("v1alpha1", "v1beta1"))
    assert (former - latest, latest - former) == (old, new)


def defaults(schema, path=""):
    """Place → default, of all fields below."""
    values = {path: schema["default"]} if "default" in schema else {}
    for name, each in schema.get("properties", {}).items():
        values |= defaults(each, f"{path}.{name}")
    return values


def test_of_all_defaults_schemas_have_one_alone_and_the_rest_is_left_to_admission():
    values = [
        defaults(version["schema"]["openAPIV3Schema"])
        for definition in definitions()
        for version in definition["spec"]["versions"]
    ]
    reuse, clones = ".spec.scaleStrategy.enablePVCReuse", ".spec.template.cloneSetTemplate"
    united = {f"{clones}{reuse}": False}
    assert values == [{}, {reuse: False}, {}, {}, united, united]


async def test_a_server_makes_them_if_asked_and_finds_nothing_wrong_with_them():
    async with serving(Config(secure_port=0, kruise=True)) as running:
        registry = running.registry
        row = registry.table.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert row is not None
        stored = registry.storage.store.range("/registry/apiextensions.k8s.io/customresourcedefinitions/").items
        assert len(stored) == len(COLUMNS)
        for kv in stored:
            assert validate_create(row, registry.codecs.codec_of(row).decode(kv)) == []


async def test_a_server_that_is_not_asked_has_none():
    async with serving(Config(secure_port=0)) as running:
        store = running.registry.storage.store
        assert store.count("/registry/apiextensions.k8s.io/customresourcedefinitions/") == 0
