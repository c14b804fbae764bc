import time
from typing import Any

import pytest

from mockube import Cluster, ca

CREATED: list[tuple[str, str]] = [
    (
        "create clusterrole {n}-a --verb=get,list --resource=pods,deployments.apps/scale",
        "clusterrole.{rbac}/{n}-a created",
    ),
    ("create clusterrole {n}-b --verb=get --non-resource-url=/healthz", "clusterrole.{rbac}/{n}-b created"),
    ("create clusterrole {n}-c --aggregation-rule=a=b", "clusterrole.{rbac}/{n}-c created"),
    ("create clusterrolebinding {n} --clusterrole=view --user=u --group=g", "clusterrolebinding.{rbac}/{n} created"),
    ("create configmap cm --from-literal=a=b --from-file=text", "configmap/cm created"),
    ("create cronjob often --image=busybox --schedule='*/5 * * * *' -- date", "cronjob.batch/often created"),
    ("create deployment web --image=nginx --replicas=3 --port=80", "deployment.apps/web created"),
    ("create ingress i --rule=foo.com/bar*=web:80,tls=cert --class=c", "ingress.networking.k8s.io/i created"),
    ("create job once --image=busybox -- date", "job.batch/once created"),
    ("create namespace {n}-more", "namespace/{n}-more created"),
    ("create poddisruptionbudget p --selector=a=b --min-available=1", "poddisruptionbudget.policy/p created"),
    ("create pdb q --selector=a=b --max-unavailable=50%", "poddisruptionbudget.policy/q created"),
    ("create priorityclass {n} --value=1000 --preemption-policy=Never", "priorityclass.scheduling.k8s.io/{n} created"),
    ("create quota hard --hard=cpu=1,memory=1G,pods=2", "resourcequota/hard created"),
    ("create quota scoped --hard=pods=2 --scopes=BestEffort", "resourcequota/scoped created"),
    ("create role r --verb=get,list --resource=pods --resource-name=a", "role.{rbac}/r created"),
    ("create rolebinding r --role=r --serviceaccount={n}:default", "rolebinding.{rbac}/r created"),
    ("create secret generic plain --from-literal=a=b", "secret/plain created"),
    (
        "create secret docker-registry hub --docker-username=a --docker-password=b --docker-email=c@d",
        "secret/hub created",
    ),
    ("create service clusterip inner --tcp=80:8080", "service/inner created"),
    ("create service clusterip headless --tcp=80 --clusterip=None", "service/headless created"),
    ("create service nodeport outer --tcp=80:8080", "service/outer created"),
    ("create service loadbalancer front --tcp=80:8080", "service/front created"),
    ("create service externalname far --external-name=foo.com", "service/far created"),
    ("create serviceaccount robot", "serviceaccount/robot created"),
    ("create deployment dry --image=nginx --dry-run=client", r"deployment.apps/dry created \(dry run\)"),
    ("create deployment dry --image=nginx --dry-run=server", r"deployment.apps/dry created \(server dry run\)"),
    ("run p --image=nginx --port=80 --env=a=b --labels=x=y --restart=Never", "pod/p created"),
    ("run p2 --image=nginx --dry-run=server -o name", "pod/p2"),
]


@pytest.mark.parametrize(("line", "says"), CREATED)
def test_a_generator_makes_its_object(kubectl: Any, line: str, says: str) -> None:
    kubectl.file("text", "hello")
    names = {"n": kubectl.namespace, "rbac": "rbac.authorization.k8s.io"}
    kubectl.says(line.format(**names), says.format(**names))


REFUSED: list[tuple[str, str]] = [
    (
        "create cronjob often --image=busybox --schedule=bad -- date",
        (
            r'error: failed to create cronjob: CronJob.batch "often" is invalid: spec.schedule: Invalid value: "bad": '
            r"expected exactly 5 fields, found 1: \[bad\]"
        ),
    ),
    ("create namespace default", r'Error from server \(AlreadyExists\): namespaces "default" already exists'),
    (
        "create namespace N_1",
        r'The Namespace "N_1" is invalid: metadata.name: Invalid value: "N_1": a lowercase RFC 1123 label must .*',
    ),
    (
        "create quota q --hard=cpu=1 --scopes=BestEffort",
        (
            r'error: .*: ResourceQuota "q" is invalid: spec.scopes: Invalid value: \["BestEffort"\]: '
            r"unsupported scope applied to resource"
        ),
    ),
    ("create role r --verb=get --resource=nothing", r'the server doesn\'t have a resource type "nothing"'),
    ("create token nobody", r'error: failed to create token: serviceaccounts "nobody" not found'),
    (
        "create service clusterip s --tcp=80 --clusterip=1.2.3.4",
        (
            r'error: failed to create ClusterIP service: Service "s" is invalid: spec.clusterIPs: '
            r'Invalid value: \["1.2.3.4"\]: failed to allocate .*: the provided IP .* is not in the valid range.*'
        ),
    ),
    (
        "create service nodeport s --tcp=80 --node-port=80",
        (
            r'error: failed to create NodePort service: Service "s" is invalid: spec.ports\[0\].nodePort: '
            r"Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"
        ),
    ),
]


@pytest.mark.parametrize(("line", "says"), REFUSED)
def test_what_is_wrong_with_an_object_is_said(kubectl: Any, line: str, says: str) -> None:
    kubectl.refuses(line, says)


def test_a_certificate_is_kept_with_its_key(kubectl: Any) -> None:
    ca.make_certificates(
        kubectl.directory, ["a"], now=time.time(), write=lambda n, text: kubectl.file(n, text.decode())
    )
    kubectl.says("create secret tls cert --cert=ca.crt --key=ca.key", "secret/cert created")
    kubectl.says("get secret cert", r"NAME .*\ncert +kubernetes.io/tls +2 +\d+s")


def test_a_token_is_made_for_an_account(kubectl: Any) -> None:
    kubectl.output("create sa robot")

    kubectl.says("create token robot --audience=x", r"[\w-]+\.[\w-]+\.[\w-]+")
    kubectl.refuses(
        "create token robot --duration=1s",
        r"error: failed to create token: .* spec.expirationSeconds: Invalid value: 1: "
        r"may not specify a duration less than 10 minutes",
    )


def test_a_job_is_made_of_a_cron_job(kubectl: Any) -> None:
    kubectl.output("create cronjob often --image=busybox --schedule='*/5 * * * *' -- date")

    kubectl.says("create job once --from=cronjob/often", "job.batch/once created")
    kubectl.says("get job once -o jsonpath={.metadata.ownerReferences[0].kind}", "CronJob")


def test_a_deployment_is_exposed_and_scaled_by_itself(kubectl: Any) -> None:
    kubectl.output("create deployment web --image=nginx --port=80")

    kubectl.says("expose deploy web --type=NodePort --target-port=8080", "service/web exposed")
    kubectl.says(
        "autoscale deploy web --min=1 --max=3 --cpu-percent=50", "horizontalpodautoscaler.autoscaling/web autoscaled"
    )
    kubectl.says("get svc web", r"NAME .*\nweb +NodePort +10\.\d+\.\d+\.\d+ +<none> +80:3\d{4}/TCP +\d+s")
    kubectl.says("get hpa web", r"NAME .*\nweb +Deployment/web +cpu: <unknown>/50% +1 +3 +0 +\d+s")


def test_what_nothing_acts_on_is_created_with_a_warning(
    kubectl_at: Any, kubectl_path: str, kube_cluster: Cluster
) -> None:
    kubectl = kubectl_at(kube_cluster.kubeconfig, namespace="default", binary=kubectl_path)

    kubectl.says(
        "create cronjob c --image=busybox --schedule=@hourly",
        "cronjob.batch/c created\n"
        "Warning: mockube has no CronJob controller: this CronJob is stored, but creates no Jobs",
    )
    kubectl.says("create deployment web --image=nginx", "deployment.apps/web created")


def test_an_address_is_given_once(kubectl: Any) -> None:
    kubectl.output("create service clusterip first --tcp=80 --clusterip=10.96.77.7")

    kubectl.refuses(
        "create service clusterip second --tcp=80 --clusterip=10.96.77.7", r".*provided IP is already allocated"
    )
    kubectl.output("delete svc first")
    kubectl.says("create service clusterip second --tcp=80 --clusterip=10.96.77.7", "service/second created")


def test_a_server_side_dry_run_shows_defaults_and_keeps_nothing(kubectl: Any) -> None:
    shown = kubectl.output("create deployment web --image=nginx --dry-run=server -o yaml")

    assert "progressDeadlineSeconds: 600" in shown
    assert "imagePullPolicy: Always" in shown
    kubectl.refuses("get deploy web", r'Error from server \(NotFound\): deployments.apps "web" not found')
