from typing import Any

import pytest

NODE = """
apiVersion: v1
kind: Node
metadata: {name: NAME}
status:
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
  conditions: [{type: Ready, status: "True", reason: KubeletReady, message: ok}]
  nodeInfo: {kubeletVersion: v1.33.0}
"""


@pytest.fixture
def node(kubectl: Any) -> Any:
    kubectl.output("create -f -", NODE.replace("NAME", kubectl.namespace))
    yield kubectl
    kubectl.output(f"delete node {kubectl.namespace}")


def test_a_node_is_shown_and_described(node: Any) -> None:
    name = node.namespace
    node.says(f"get node {name}", rf"NAME +STATUS +ROLES +AGE +VERSION\n{name} +Ready +<none> +\d+s +v1.33.0")
    node.says(
        f"describe node {name}", rf"Name: +{name}\nRoles: +<none>\n.*Ready +True .*KubeletReady +ok\n.*cpu: +4\n.*"
    )


def test_a_node_is_tainted_and_untainted(node: Any) -> None:
    name = node.namespace
    node.says(f"taint nodes {name} a=b:NoSchedule", f"node/{name} tainted")
    node.refuses(
        f"taint nodes {name} a=b:NoSchedule",
        rf"error: [Nn]ode {name} already has a?.*taint\(?s?\)? with same effect\(s\) and --overwrite is false",
    )
    node.says(f"taint nodes {name} a=c:NoSchedule --overwrite", f"node/{name} modified")
    node.says(f"get node {name} -o jsonpath={{.spec.taints[0].value}}", "c")
    node.says(f"taint nodes {name} a-", f"node/{name} untainted")
    node.refuses(f"taint nodes {name} a-", 'error: taint "a" not found')


def test_a_node_is_cordoned_and_uncordoned(node: Any) -> None:
    name = node.namespace
    node.says(f"cordon {name}", f"node/{name} cordoned")
    node.says(f"cordon {name}", f"node/{name} already cordoned")
    node.says(f"get node {name} --no-headers", rf"{name} +Ready,SchedulingDisabled .*")
    node.says(f"uncordon {name}", f"node/{name} uncordoned")
    node.says(f"uncordon {name}", f"node/{name} already uncordoned")


def test_a_node_is_drained_of_its_pods(node: Any) -> None:
    name = node.namespace
    node.output(f"""run p --image=nginx --overrides='{{"spec":{{"nodeName":"{name}"}}}}'""")

    node.says(
        f"drain {name} --force --dry-run=client",
        rf"node/{name} cordoned \(dry run\)\n.*node/{name} drained \(dry run\).*",
    )
    node.says(
        f"drain {name} --force --dry-run=server", rf"node/{name} cordoned \(server dry run\)\n.*node/{name} drained .*"
    )
    node.refuses(f"drain {name}", rf".*cannot delete.* Pods that declare no controller.*{node.namespace}/p.*")
    node.says(
        f"drain {name} --force --grace-period=0 --timeout=300s",
        rf"node/{name} (already )?cordoned\n.*evicting pod {node.namespace}/p\npod/p evicted\nnode/{name} drained.*",
    )
    node.refuses("get pod p", r'Error from server \(NotFound\): pods "p" not found')


def test_a_drain_that_asks_nobody_deletes(node: Any) -> None:
    name = node.namespace
    node.output(f"""run p --image=nginx --overrides='{{"spec":{{"nodeName":"{name}"}}}}'""")

    node.says(
        f"drain {name} --force --disable-eviction --grace-period=0",
        rf"node/{name} cordoned\n.*pod/p deleted\nnode/{name} drained.*",
    )


def test_a_budget_stops_a_drain(node: Any) -> None:
    name = node.namespace
    node.output(f"""run p --image=nginx --labels=a=b --overrides='{{"spec":{{"nodeName":"{name}"}}}}'""")
    node.output("create pdb kept --selector=a=b --min-available=1")
    status = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
    node.output(f"patch pod p --subresource=status --type=merge -p '{status}'")

    node.output("""patch pdb kept --subresource=status --type=merge -p '{"status":{"observedGeneration":1}}'""")

    node.refuses(
        f"drain {name} --force --timeout=1s", r".*Cannot evict pod as it would violate the pod's disruption budget\..*"
    )
    node.output("delete pdb kept")
    node.output("delete pod p --grace-period=0 --force")


def test_a_node_that_is_not_there_is_not_drained(kubectl: Any) -> None:
    kubectl.refuses("drain nowhere", r'Error from server \(NotFound\): nodes "nowhere" not found')
