from typing import Any

import pytest

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1", ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
"""
ODD = """
apiVersion: v1
kind: Pod
metadata: {name: odd, foo: 1}
spec: {containers: [{name: c, image: nginx, imgae: z}], nope: {}}
"""
KUSTOMIZATION = """
resources: [web.yaml]
namePrefix: my-
configMapGenerator: [{name: generated, literals: [a=b]}]
"""

WORDS: list[tuple[str, str]] = [
    ("apply -f web.yaml --dry-run=client", r"deployment.apps/web created \(dry run\)\nservice/web created \(dry run\)"),
    ("apply -f web.yaml --dry-run=server", r"deployment.apps/web created \(server dry run\)\nservice/web created .*"),
    ("apply -f web.yaml", r"deployment.apps/web created\nservice/web created"),
    ("apply -f web.yaml", r"deployment.apps/web unchanged\nservice/web unchanged"),
    ("diff -f web.yaml", ""),
    ("apply -f web2.yaml", r"deployment.apps/web configured\nservice/web unchanged"),
    ("get deploy", r"NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0/2 +0 +0 +\d+s"),
    (
        "get deploy web -o wide --show-labels",
        r".* CONTAINERS +IMAGES +SELECTOR +LABELS\nweb .* nginx:2 +app=web +app=web",
    ),
    ("get deploy,svc -o name", r"deployment.apps/web\nservice/web"),
    ("get deploy web -o jsonpath={.spec.replicas}", "2"),
    ("get svc --sort-by=.metadata.name -o custom-columns=N:.metadata.name", r"N\nweb"),
    ("get deploy -o yaml --chunk-size=1", r"apiVersion: v1\nitems:\n- apiVersion: apps/v1\n.*kind: List\n.*"),
    ("create configmap cm --from-literal=a=b", "configmap/cm created"),
    ("create secret generic top --from-literal=a=b", "secret/top created"),
    ("create job once --image=busybox -- date", "job.batch/once created"),
    ("create cronjob often --image=busybox --schedule='*/5 * * * *' -- date", "cronjob.batch/often created"),
    ("create role r --verb=get --resource=pods", "role.rbac.authorization.k8s.io/r created"),
    ("create rolebinding r --role=r --user=u", "rolebinding.rbac.authorization.k8s.io/r created"),
    ("create ingress i --rule=foo.com/*=web:80", "ingress.networking.k8s.io/i created"),
    ("create quota q --hard=pods=2", "resourcequota/q created"),
    ("create pdb p --selector=a=b --min-available=1", "poddisruptionbudget.policy/p created"),
    ("create serviceaccount robot", "serviceaccount/robot created"),
    ("create token robot", r"[\w-]+\.[\w-]+\.[\w-]+"),
    ("create service nodeport np --tcp=80:8080", "service/np created"),
    ("run p --image=nginx --port=80 --labels=x=y", "pod/p created"),
    ("expose pod p --port=80", "service/p exposed"),
    ("autoscale deploy web --min=1 --max=3 --cpu-percent=50", "horizontalpodautoscaler.autoscaling/web autoscaled"),
    ("scale deploy web --replicas=5", "deployment.apps/web scaled"),
    ("set image deploy/web web=nginx:3", "deployment.apps/web image updated"),
    ("set env deploy/web A=B", "deployment.apps/web env updated"),
    ("set resources deploy web --limits=cpu=200m", "deployment.apps/web resource requirements updated"),
    ("label pod p z=1", "pod/p labeled"),
    ("annotate pod p note='hello world'", r"pod/p annotated?"),
    ("""patch pod p -p '{"metadata":{"labels":{"q":"1"}}}'""", "pod/p patched"),
    ("""patch pod p --type=merge -p '{"metadata":{"labels":{"q":null}}}'""", "pod/p patched"),
    ("""patch pod p --type=json -p '[{"op":"test","path":"/metadata/labels/z","value":"1"}]'""", r"pod/p patched.*"),
    ("edit cronjob often", "cronjob.batch/often edited"),
    ("get pods -l z=1 --field-selector=status.phase=Pending -o name", "pod/p"),
    (
        "describe deploy web",
        r"Name: +web\n.*Replicas: +5 desired \| 0 updated .*Image: +nginx:3\n.*cpu: +200m\n.*A: +B\n.*",
    ),
    ("describe pod p", r"Name: +p\n.*Labels: +x=y\n +z=1\nAnnotations: +note: hello world\nStatus: +Pending\n.*"),
    ("rollout restart deploy web", "deployment.apps/web restarted"),
    ("rollout history deploy web", r"deployment.apps/web *\nNo rollout history found\."),
    (
        "explain deploy.spec.replicas",
        r"GROUP: +apps\nKIND: +Deployment\nVERSION: +v1\n\nFIELD: +replicas <integer>\n.*",
    ),
    ("api-resources --api-group=batch -o name", r"cronjobs.batch\njobs.batch"),
    ("auth can-i create pods", "yes"),
    ("wait --for=jsonpath={.status.phase}=Pending pod/p", "pod/p condition met"),
    ("wait --for=delete pod/nobody", ""),
    ("events", r"No events found in .* namespace\."),
    ("create -f odd.yaml --validate=ignore --dry-run=server", r"pod/odd created \(server dry run\)"),
    (
        "create -f odd.yaml --validate=warn --dry-run=server",
        r"pod/odd created \(server dry run\)\nWarning: unknown field \"metadata.foo\"\nWarning: .*nope\"",
    ),
    (
        "apply -k kustomization",
        r"configmap/my-generated-\w+ created\nservice/my-web created\ndeployment.apps/my-web created",
    ),
    ("replace --force -f web.yaml", r".*deployment.apps/web replaced\nservice/web replaced"),
    ("delete pod p --grace-period=0 --force", r'pod "p" force deleted.*\nWarning: Immediate deletion .*'),
    ("delete deploy web --cascade=orphan --wait=false", r'deployment.apps "web" deleted.*'),
    ("delete svc -l app=np", r'service "np" deleted.*'),
    ("delete cm,secret --all", r'configmap "cm" deleted.*secret "top" deleted.*'),
    ("delete pod nobody --ignore-not-found", ""),
    ("get all -o name", r".*cronjob.batch/often\njob.batch/once"),
    ("version", r"Client Version: .*Server Version: .*v1\.\d+\.0.*"),
    ("cluster-info", r".*Kubernetes control plane.* is running at .*https://127.0.0.1:\d+.*"),
]
"""Commands in the order of a day's work, and what they print (kubectl 1.27 says "annotate")."""

REFUSED: list[tuple[str, str]] = [
    ("get pods nobody", r'Error from server \(NotFound\): pods "nobody" not found'),
    ("get nothing", r'error: the server doesn\'t have a resource type "nothing"'),
    ("create sa twin", 'error: failed to create serviceaccount: serviceaccounts "twin" already exists'),
    ("create -f odd.yaml", r".*strict decoding error: unknown field \"metadata.foo\", .*unknown field \"spec.nope\""),
    ("create -f odd.yaml --validate=true", r".*strict decoding error: unknown field .*unknown field \"spec.nope\""),
    (
        "run Odd_Name --image=nginx",
        r'The Pod "Odd_Name" is invalid: \n\* metadata.name: Invalid value: "Odd_Name": a lowercase RFC 1123 sub.*',
    ),
    (
        "delete ns default",
        r'Error from server \(Forbidden\): namespaces "default" is forbidden: this namespace may not .*',
    ),
    ("exec nobody -- ls", r'Error from server \(NotFound\): pods "nobody" not found'),
    ("top pods", "error: Metrics API not available"),
]


@pytest.fixture(scope="module")
def prepared(each_kubectl: Any) -> Any:
    each_kubectl.file("web.yaml", WEB)
    each_kubectl.file("web2.yaml", WEB.replace("nginx:1", "nginx:2"))
    each_kubectl.file("odd.yaml", ODD)
    each_kubectl.file("kustomization/kustomization.yaml", KUSTOMIZATION)
    each_kubectl.file("kustomization/web.yaml", WEB)
    each_kubectl.output("create sa twin")
    return each_kubectl


def test_a_day_of_work_prints_what_it_prints_on_a_real_cluster(prepared: Any) -> None:
    failed = []
    for line, pattern in WORDS:
        try:
            prepared.says(line, pattern, KUBE_EDITOR="sed -i 's/schedule: .*/schedule: 1 1 1 1 1/'")
        except AssertionError as error:
            failed.append(str(error))
    assert not failed, "\n\n".join(failed)


@pytest.mark.parametrize(("line", "pattern"), REFUSED)
def test_what_cannot_be_is_refused_in_the_words_of_a_real_cluster(prepared: Any, line: str, pattern: str) -> None:
    prepared.refuses(line, pattern)
