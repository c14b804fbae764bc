import json
from typing import Any

import pytest

AGE = r"(?:\d+s|\d+m(?:\d+s)?)"
WIDE: list[tuple[str, str]] = [
    (
        "po p",
        rf"NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +NOMINATED NODE +READINESS GATES\np +0/1 +Pending +0 +{AGE} .*",
    ),
    (
        "svc",
        rf"NAME +TYPE +CLUSTER-IP +EXTERNAL-IP +PORT\(S\) +AGE +SELECTOR\ns +ClusterIP +None .* 80/TCP +{AGE} +app=a",
    ),
    ("cm cm", rf"NAME +DATA +AGE\ncm +1 +{AGE}"),
    ("secret", rf"NAME +TYPE +DATA +AGE\ntop +Opaque +1 +{AGE}"),
    (
        "pvc",
        rf"NAME +STATUS +VOLUME +CAPACITY +ACCESS MODES .*AGE +VOLUMEMODE\npvc +Pending .*{AGE} +Filesystem",
    ),
    ("limits", r"NAME +CREATED AT\nlr +20.*Z"),
    ("rc", rf"NAME +DESIRED +CURRENT +READY +AGE +CONTAINERS +IMAGES +SELECTOR\nrc +1 +0 +0 +{AGE} +c +i +a=b"),
    (
        "ds",
        (
            r"NAME +DESIRED +CURRENT +READY +UP-TO-DATE +AVAILABLE +NODE SELECTOR +AGE +CONTAINERS +IMAGES +SELECTOR\n"
            rf"ds +0 +0 +0 +0 +0 +<none> +{AGE} +c +i +a=b"
        ),
    ),
    ("sts", rf"NAME +READY +AGE +CONTAINERS +IMAGES\nsts +0/1 +{AGE} +c +i"),
    ("rs", rf"NAME +DESIRED +CURRENT +READY +AGE +CONTAINERS +IMAGES +SELECTOR\nrs +1 +0 +0 +{AGE} +c +i +a=b"),
    (
        "deploy",
        rf"NAME +READY +UP-TO-DATE +AVAILABLE +AGE +CONTAINERS +IMAGES +SELECTOR\nd +0/1 +0 +0 +{AGE} +c +i +a=b",
    ),
    (
        "job",
        rf"NAME +STATUS +COMPLETIONS +DURATION +AGE +CONTAINERS +IMAGES +SELECTOR\nj +Running .* {AGE} +c +i +batch.*",
    ),
    (
        "cj",
        rf"NAME +SCHEDULE +TIMEZONE +SUSPEND +ACTIVE +LAST SCHEDULE +AGE .*\ncj +\* .* +False +0 +<none> +{AGE} .*",
    ),
    ("ing", rf"NAME +CLASS +HOSTS +ADDRESS +PORTS +AGE\ning +<none> +\* +80 +{AGE}"),
    ("netpol", rf"NAME +POD-SELECTOR +AGE\nnp +a=b +{AGE}"),
    ("pdb", rf"NAME +MIN AVAILABLE +MAX UNAVAILABLE +ALLOWED DISRUPTIONS +AGE\npdb +1 +N/A +0 +{AGE}"),
    ("role", r"NAME +CREATED AT\nr +20.*Z"),
    ("rolebinding", rf"NAME +ROLE +AGE +USERS +GROUPS +SERVICEACCOUNTS\nrb +Role/r +{AGE} +u *"),
    ("hpa", rf"NAME +REFERENCE +TARGETS +MINPODS +MAXPODS +REPLICAS +AGE\nhpa +Deployment/d +.* +1 +3 +0 +{AGE}"),
    ("lease", rf"NAME +HOLDER +AGE\nl +me +{AGE}"),
    ("endpointslices", rf"NAME +ADDRESSTYPE +PORTS +ENDPOINTS +AGE\neps +IPv4 +80 +10.0.0.1 +{AGE}"),
    ("sa", rf"NAME +SECRETS +AGE\nrobot +0 +{AGE}"),
    (
        "events",
        (
            r"LAST SEEN +TYPE +REASON +OBJECT +SUBOBJECT +SOURCE +MESSAGE +FIRST SEEN +COUNT +NAME\n"
            r"\d+y\d+d? +Normal +Seen +pod/p +it was seen +.* +2 +e"
        ),
    ),
    ("ns default", rf"NAME +STATUS +AGE\ndefault +Active +{AGE}"),
]


@pytest.mark.parametrize(("what", "says"), WIDE)
def test_wide_columns_are_those_of_a_real_cluster(furnished: Any, what: str, says: str) -> None:
    furnished.says(f"get {what} -o wide", says)


OUTPUTS: list[tuple[str, str]] = [
    ("get po,svc -o name", "pod/p\npod/q\nservice/s"),
    ("get pod/p svc/s --no-headers", r"pod/p +0/1 +Pending +0 +\d+s *\nservice/s +ClusterIP .*"),
    ("get po --show-labels", r"NAME .* LABELS\np .* app=a,tier=x\nq .* app=b"),
    ("get po -L app,tier", r"NAME +READY +STATUS +RESTARTS +AGE +APP +TIER\np .* a +x\nq .* b *"),
    ("get po --show-kind", r"NAME .*\npod/p .*\npod/q .*"),
    ("get po -l app=a -o name", "pod/p"),
    ("get po -l 'app in (a,b),!tier' -o name", "pod/q"),
    ("get po --field-selector=metadata.name=q -o name", "pod/q"),
    ("get po --field-selector=status.phase!=Pending", "No resources found in .* namespace."),
    ("get po --chunk-size=1 -o name", "pod/p\npod/q"),
    ("get po -o jsonpath='{.items[*].metadata.name}'", "p q"),
    ("get po p -o go-template='{{.metadata.labels.app}}'", "a"),
    ("get po -o custom-columns=N:.metadata.name,A:.metadata.labels.app", "N +A\np +a\nq +b"),
    ("get po --sort-by=.metadata.labels.app --no-headers -o custom-columns=N:.metadata.name", "p\nq"),
    (
        "get po p -o yaml",
        r"apiVersion: v1\nkind: Pod\nmetadata:\n  creationTimestamp: .*\nstatus:\n  phase: Pending\n.*",
    ),
    ("get pods.v1. p -o name", "pod/p"),
    ("get deployments.v1.apps -o name", "deployment.apps/d"),
    ("get horizontalpodautoscalers.v1.autoscaling hpa -o jsonpath={.apiVersion}", "autoscaling/v1"),
    ("get deploy d --subresource=scale -o jsonpath={.kind}", "Scale"),
    ("get deploy d --subresource=scale", r"NAME +DESIRED +AVAILABLE +AGE\nd +1 +0 +\d+s"),
    ("get deploy d --subresource=status", r"NAME +READY .*\nd +0/1 .*"),
    ("get po --server-print=false", r"NAME +AGE\np +\d+s\nq +\d+s"),
    ("get cm nobody --ignore-not-found", ""),
    ("get po -n nowhere", "No resources found in nowhere namespace."),
    ("get --raw /healthz", "ok"),
    ("get --raw /livez/ping", "ok"),
    ("get --raw /readyz?verbose", r"\[\+\]ping ok\n.*readyz check passed"),
    ("events", r"LAST SEEN +TYPE +REASON +OBJECT +MESSAGE\n\S+ \(x2 over \S+\)|.*Normal +Seen +Pod/p +it was seen"),
    ("events --for pod/p", r"LAST SEEN .*\n.* +Normal +Seen +Pod/p +it was seen"),
]


@pytest.mark.parametrize(("line", "says"), OUTPUTS)
def test_an_output_is_that_of_a_real_cluster(furnished: Any, line: str, says: str) -> None:
    furnished.says(line, says)


REFUSED: list[tuple[str, str]] = [
    ("get po nobody", r'Error from server \(NotFound\): pods "nobody" not found'),
    ("get cm cm nobody", r'NAME .*\ncm .*\nError from server \(NotFound\): configmaps "nobody" not found'),
    ("get nothing", r'error: the server doesn\'t have a resource type "nothing"'),
    (
        "get svc --field-selector=foo=bar",
        (
            r'Error from server \(BadRequest\): Unable to find "/v1, Resource=services" that match label selector "", '
            r'field selector "foo=bar": field label not supported: foo'
        ),
    ),
    (
        "get svc -l 'a b'",
        (
            r'Error from server \(BadRequest\): Unable to find ".*=services" that match label selector "a b", '
            r"field selector \"\": unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
        ),
    ),
    ("get --raw /nothing", r"Error from server \(NotFound\): the server could not find the requested resource"),
]


@pytest.mark.parametrize(("line", "says"), REFUSED)
def test_what_is_not_there_is_said(furnished: Any, line: str, says: str) -> None:
    furnished.refuses(line, says)


def test_all_namespaces_are_told_apart(furnished: Any) -> None:
    shown = furnished.output("get po -A")

    assert shown.startswith("NAMESPACE ")
    assert f"\n{furnished.namespace} " in shown


def test_managed_fields_show_when_asked_for(furnished: Any) -> None:
    plain, full = (json.loads(furnished.output(f"get cm cm -o json {flag}")) for flag in ("", "--show-managed-fields"))

    assert "managedFields" not in plain["metadata"]
    assert [each["manager"] for each in full["metadata"]["managedFields"]] == ["kubectl-create"]
