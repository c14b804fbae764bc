"""kubectl with custom kinds: discovered, explained, applied, edited, waited for, listed by category, deleted."""

import json
from itertools import count
from typing import Any

import pytest
from patience import SECONDS

Kubectl = Any
COLUMNS = """
      - {name: Size, type: integer, jsonPath: .spec.size, description: How big it is.}
      - {name: Phase, type: string, jsonPath: .status.phase}
      - {name: Shade, type: string, jsonPath: .spec.shade, priority: 1}
      - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
"""
DEFINITION = f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: gadgets.OURS}}
spec:
  group: OURS
  scope: Namespaced
  names: {{plural: gadgets, kind: Gadget, shortNames: [gd], categories: [all, toys]}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}, scale: {{specReplicasPath: .spec.size, statusReplicasPath: .status.size}}}}
    selectableFields: [{{jsonPath: .spec.shade}}]
    additionalPrinterColumns: {COLUMNS}
    schema:
      openAPIV3Schema:
        type: object
        description: A Gadget is a thing to play with.
        required: [spec]
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [size]
            properties:
              size: {{type: integer, minimum: 0, description: How big it is to be.}}
              shade: {{type: string, enum: [dark, light], default: light}}
              port: {{x-kubernetes-int-or-string: true}}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {{name: {{type: string}}, weight: {{type: number}}}}
          status: {{type: object, properties: {{phase: {{type: string}}, size: {{type: integer}}}}}}
"""
GADGET = """
apiVersion: OURS/v1
kind: Gadget
metadata: {name: g, labels: {app: a}}
spec: {size: 2, parts: [{name: wheel, weight: 1.5}]}
"""
numbers = count(1)


class Toys:
    """A kubectl, and an API group with one kind, gadgets."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl
        self.group = f"toys{next(numbers)}.example.com"

    def text(self, text: str) -> str:
        return text.replace("OURS", self.group)

    def says(self, line: str, pattern: str, given: str = "") -> str:
        return str(self.kubectl.says(line, self.text(pattern), self.text(given)))

    def refuses(self, line: str, pattern: str, given: str = "") -> str:
        return str(self.kubectl.refuses(line, self.text(pattern), self.text(given)))

    def output(self, line: str, given: str = "") -> str:
        return str(self.kubectl.output(line, self.text(given)))


@pytest.fixture
def toys(kubectl: Kubectl) -> Toys:
    """A kind that is defined by kubectl, and waited for."""
    return _defined(kubectl)


def _defined(kubectl: Kubectl) -> Toys:
    toys = Toys(kubectl)
    toys.says("apply -f -", "customresourcedefinition.apiextensions.k8s.io/gadgets.OURS created", DEFINITION)
    crd = toys.text("crd/gadgets.OURS")
    toys.says(f"wait {crd} --for=condition=Established --timeout=300s", "customresourcedefinition.*/.* condition met")
    return toys


@pytest.fixture(scope="module")
def each_toys(each_kubectl: Kubectl) -> Toys:
    """The same with every kubectl there is."""
    return _defined(each_kubectl)


def test_it_is_one_of_the_resources(toys: Toys) -> None:
    toys.says(f"api-resources --api-group={toys.group}", "NAME.*\ngadgets +gd +OURS/v1 +true +Gadget")
    wide = toys.output(f"api-resources --api-group={toys.group} -o wide --no-headers")
    assert wide.split()[5:] == ["delete,deletecollection,get,list,patch,create,update,watch", "all,toys"]
    assert f"{toys.group}/v1" in toys.output("api-versions").splitlines()
    assert toys.output("api-resources --categories=toys -o name").split().count(f"gadgets.{toys.group}") == 1


def test_every_kubectl_makes_shows_changes_and_deletes_one(each_toys: Toys) -> None:
    toys = each_toys
    kind = toys.text("gadget.OURS")
    toys.says("create -f -", "gadget.OURS/g created", GADGET)
    toys.says(f"get {kind}", r"NAME +SIZE +PHASE +AGE\ng +2 +\d+s")
    toys.says(f"get {kind} -o wide", r"NAME +SIZE +PHASE +SHADE +AGE\ng +2 +light +\d+s")
    toys.says(f"label {kind} g b=c", "gadget.OURS/g labeled")
    toys.says(f'patch {kind} g --type=merge -p \'{{"spec": {{"size": 3}}}}\'', "gadget.OURS/g patched")
    toys.says(f"get {kind} g -o jsonpath={{.spec.size}},{{.metadata.labels.b}}", "3,c")
    toys.says(f"delete {kind} g", 'gadget.OURS "g" deleted.*')


def test_it_is_explained(toys: Toys) -> None:
    where = f"--api-version={toys.group}/v1"
    toys.says(
        f"explain gadgets {where}",
        r"GROUP: +OURS\nKIND: +Gadget\nVERSION: +v1\n\nDESCRIPTION:\n +A Gadget is a thing to play with\.\n.*"
        r"FIELDS:\n  apiVersion\t<string>\n.*  kind\t<string>\n.*  metadata\t<ObjectMeta>\n.*"
        r"  spec\t<Object> -required-\n    What is wanted\.\n\n  status\t<Object>.*",
    )
    toys.says(
        f"explain gadgets.spec.size {where}",
        r"GROUP: +OURS\nKIND: +Gadget\nVERSION: +v1\n\nFIELD: size <integer>\n+DESCRIPTION:\n"
        r" +How big it is to be\..*",
    )
    toys.says(
        f"explain gadgets.spec --recursive {where}",
        r".*  parts\t<\[\]Object>\n    name\t<string> -required-\n    weight\t.*",
    )
    toys.says(f"explain gadgets.spec.shade {where}", r".*ENUM:\n    dark\n    light\n.*")
    toys.says(f"explain gadgets.metadata.labels {where}", r".*FIELD: labels <map\[string\]string>.*")
    toys.refuses(f"explain gadgets.spec.none {where}", '.*field "none" does not exist')
    toys.says(
        f"explain gadgets.spec.size --output=plaintext-openapiv2 {where}", r"KIND: +Gadget\nVERSION: +OURS/v1\n.*"
    )


def test_it_is_applied_and_what_is_gone_from_the_file_goes(toys: Toys) -> None:
    toys.says("apply -f -", "gadget.OURS/g created", GADGET)
    toys.says("apply -f -", "gadget.OURS/g unchanged", GADGET)
    toys.output(f"annotate gadgets.{toys.group} g theirs=1")
    toys.says("apply -f -", "gadget.OURS/g configured", GADGET.replace(", parts: [{name: wheel, weight: 1.5}]", ""))
    gadget = json.loads(toys.output(f"get gadgets.{toys.group} g -o json"))
    assert gadget["spec"] == {"size": 2, "shade": "light"}
    assert gadget["metadata"]["annotations"]["theirs"] == "1"
    assert gadget["metadata"]["generation"] == 2
    toys.says("diff -f -", "", GADGET.replace(", parts: [{name: wheel, weight: 1.5}]", ""))


def test_a_file_is_checked_by_the_schema_of_its_kind(toys: Toys) -> None:
    toys.refuses(
        "apply -f -",
        r'.*Gadget in version "v1" cannot be handled as a Gadget: strict decoding error: unknown field "spec.colour"',
        GADGET.replace("size: 2", "size: 2, colour: red"),
    )
    toys.says(
        "apply --validate=warn -f -",
        r'(Warning: unknown field "spec.colour"\n)?gadget.OURS/g created(\nWarning: unknown field "spec.colour")?',
        GADGET.replace("size: 2", "size: 2, colour: red"),
    )
    toys.refuses(
        "apply -f -",
        r'The Gadget "g" is invalid: ?\n?(\* )?spec.size: Invalid value: -1: spec.size in body should be .* 0.*',
        GADGET.replace("size: 2", "size: -1"),
    )
    toys.refuses(
        "apply -f -",
        r'.*spec.shade: Unsupported value: "grey": supported values: "dark", "light".*',
        GADGET.replace("size: 2", "size: 2, shade: grey"),
    )


def test_what_an_editor_changes_is_patched(toys: Toys) -> None:
    toys.output("create -f -", GADGET)
    editor = toys.kubectl.file("editor.sh", "#!/bin/sh\nsed -i 's/size: 2/size: 5/' \"$1\"\n")
    (toys.kubectl.directory / editor).chmod(0o755)
    name = f"gadgets.{toys.group}"
    toys.kubectl.says(f"edit {name} g", toys.text("gadget.OURS/g edited"), KUBE_EDITOR=f"./{editor}")
    toys.says(f"get {name} g -o jsonpath={{.spec.size}},{{.metadata.generation}}", "5,2")
    toys.kubectl.says(f"edit {name} g", "Edit cancelled, no changes made.", KUBE_EDITOR="true")
    toys.kubectl.says(f"edit {name} g --subresource=status", "Edit cancelled, no changes made.", KUBE_EDITOR="true")


def test_categories_and_short_names_find_it(toys: Toys) -> None:
    toys.output("create -f -", GADGET)
    toys.output("create configmap other")
    assert "gadget." + toys.group + "/g" in toys.output("get all -o name").split()
    assert toys.output("get toys -o name").split() == [f"gadget.{toys.group}/g"]
    assert toys.output(f"get gadgets.v1.{toys.group} -o name").split() == [f"gadget.{toys.group}/g"]
    toys.says("get gadgets -l app=b", "No resources found in .* namespace.")
    assert toys.output(f"get gadgets.{toys.group} --field-selector=spec.shade=light -o name").split()
    toys.says(f"get gadgets.{toys.group} --field-selector=spec.shade=dark", "No resources found in .* namespace.")
    toys.refuses(f"get gadgets.{toys.group} --field-selector=spec.size=2", ".*field label not supported: spec.size")


def test_it_is_described(toys: Toys) -> None:
    toys.output("create -f -", GADGET)
    toys.says(
        f"describe gadgets.{toys.group} g",
        r"Name: +g\nNamespace: +\S+\nLabels: +app=a\nAnnotations: +<none>\nAPI Version: +OURS/v1\nKind: +Gadget\n"
        r"Metadata:\n.*Spec:\n  Parts:\n    Name: +wheel\n    Weight: +1.5\n  Shade: +light\n  Size: +2\n"
        r"Events: +<none>",
    )


def test_it_is_waited_for_watched_and_scaled(toys: Toys) -> None:
    name = f"gadgets.{toys.group}"
    toys.output("create -f -", GADGET)
    waiting = toys.kubectl.start(f"wait {name}/g --for=jsonpath={{.status.phase}}=Ready --timeout=300s")
    watching = toys.kubectl.start(f"get {name} -w --no-headers --output-watch-events")
    assert watching.stdout.readline().split()[:3] == ["ADDED", "g", "2"]
    toys.says(
        f'patch {name} g --subresource=status --type=merge -p \'{{"status": {{"phase": "Ready", "size": 2}}}}\'',
        "gadget.OURS/g patched",
    )
    assert watching.stdout.readline().split()[:4] == ["MODIFIED", "g", "2", "Ready"]
    out, _ = waiting.communicate(timeout=SECONDS)
    assert out == f"gadget.{toys.group}/g condition met\n"
    toys.says(f"scale {name} g --replicas=4", "gadget.OURS/g scaled")
    assert watching.stdout.readline().split()[:3] == ["MODIFIED", "g", "4"]
    toys.says(f"get {name} g -o jsonpath={{.spec.size}},{{.status.size}}", "4,2")
    toys.says(f"get {name} g --subresource=scale", r"NAME.*AGE\ng .*")
    watching.terminate()
    watching.communicate()


def test_several_go_at_once_and_so_does_the_kind(toys: Toys) -> None:
    name = f"gadgets.{toys.group}"
    for letter in "abc":
        toys.output("create -f -", GADGET.replace("name: g,", f"name: {letter},"))
    toys.says(f"delete {name} -l app=a --field-selector=metadata.name!=c", '.*"a" deleted.*"b" deleted.*')
    toys.says(f"delete {name} --all --wait=false", '.*"c" deleted.*')
    toys.output("create -f -", GADGET)
    toys.says(
        f"delete crd gadgets.{toys.group}",
        'customresourcedefinition.apiextensions.k8s.io "gadgets.OURS" deleted.*',
    )
    toys.refuses(f"get {name}", '.*the server doesn\'t have a resource type "gadgets"')
    toys.refuses("create -f -", '.*no matches for kind "Gadget" in version "OURS/v1".*', GADGET)


def test_definitions_are_shown_and_tried(toys: Toys) -> None:
    toys.says(f"get crd gadgets.{toys.group}", r"NAME +CREATED AT\ngadgets.OURS +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    toys.says(f"describe crd gadgets.{toys.group}", r".*Accepted Names:\n.*Kind: +Gadget\n.*Type: +Established\n.*")
    other = DEFINITION.replace("gadgets", "widgets").replace("Gadget", "Widget").replace("[gd]", "[]")
    toys.says(
        "apply --dry-run=server -f -", "customresourcedefinition.*/widgets.OURS created \\(server dry run\\)", other
    )
    toys.refuses(f"get crd widgets.{toys.group}", r"Error from server \(NotFound\): .*")
    toys.says("apply --dry-run=server -f -", r"gadget.OURS/g created \(server dry run\)", GADGET)
    toys.refuses(f"get gadgets.{toys.group} g", 'Error from server \\(NotFound\\): gadgets.OURS "g" not found')


def test_a_definition_that_is_applied_again_changes_what_is_served(toys: Toys) -> None:
    toys.output("create -f -", GADGET)
    toys.says(
        "apply -f -",
        "customresourcedefinition.*/gadgets.OURS configured",
        DEFINITION.replace("name: Size", "name: Girth"),
    )
    name = f"gadgets.{toys.group}"
    while "GIRTH" not in toys.output(f"get {name}"):
        pass
    toys.says("apply -f -", "customresourcedefinition.*/gadgets.OURS configured", DEFINITION)
    toys.says("apply -f -", "customresourcedefinition.*/gadgets.OURS unchanged", DEFINITION)


def test_a_namespace_takes_its_custom_objects_with_it(toys: Toys) -> None:
    other = f"{toys.kubectl.namespace}-more"
    toys.output(f"create namespace {other}")
    toys.output(f"create -n {other} -f -", GADGET)
    toys.says(f"delete namespace {other}", f'namespace "{other}" deleted')
    toys.says(f"get gadgets.{toys.group} -A", "No resources found")
