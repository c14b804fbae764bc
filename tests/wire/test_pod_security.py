"""PodSecurity over HTTP: refusals and warnings as kubectl shows them."""

PREFIX = "pod-security.kubernetes.io/"
SPEC = {"containers": [{"name": "c", "image": "i"}]}
PRIVILEGED = {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]}
WHY = 'privileged (container "c" must not set securityContext.privileged=true)'


EXISTING = r"existing pods in namespace \"c\" violate the new PodSecurity enforce level \"baseline:latest\""


def namespace(name, **modes):
    return {"metadata": {"name": name, "labels": {PREFIX + mode: level for mode, level in modes.items()}}}


def warnings(answer):
    return answer.headers.getall("Warning", [])


async def test_a_pod_below_the_enforced_level_is_refused_by_its_generated_name_too(api):
    await api.post("/api/v1/namespaces", namespace("a", enforce="baseline"))
    pods = "/api/v1/namespaces/a/pods"
    refused = await api.post(pods, {"metadata": {"name": "p"}, "spec": PRIVILEGED})
    assert refused.code == 403
    assert refused.message == f'pods "p" is forbidden: violates PodSecurity "baseline:latest": {WHY}'
    generated = await api.post(pods, {"metadata": {"generateName": "p-"}, "spec": PRIVILEGED})
    assert generated.message.startswith('pods "p-')
    assert not generated.message.startswith('pods "p-" ')
    assert (await api.post(pods, {"metadata": {"name": "p"}, "spec": SPEC})).code == 201
    changed = await api.patch(f"{pods}/p", {"metadata": {"labels": {"a": "b"}}})
    assert (changed.code, warnings(changed)) == (200, [])


async def test_templates_and_pods_above_the_enforced_level_get_warnings(api):
    await api.post("/api/v1/namespaces", namespace("b", enforce="baseline", warn="restricted"))
    pod = await api.post("/api/v1/namespaces/b/pods", {"metadata": {"name": "p"}, "spec": SPEC})
    assert pod.code == 201
    assert [
        each.startswith('299 - "would violate PodSecurity \\"restricted:latest\\": allow') for each in warnings(pod)
    ] == [True]
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": PRIVILEGED}
    deployment = await api.post(
        "/apis/apps/v1/namespaces/b/deployments",
        {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels}, "template": template}},
    )
    assert deployment.code == 201
    assert "privileged (container" in warnings(deployment)[0]


async def test_a_namespace_with_invalid_labels_is_refused_and_a_stricter_one_warns_of_its_pods(api):
    invalid = await api.post("/api/v1/namespaces", namespace("c", enforce="strict"))
    assert invalid.code == 422
    assert invalid.message == (
        f'Namespace "c" is invalid: metadata.labels[{PREFIX}enforce]: Invalid value: "strict": must be one of '
        "privileged, baseline, restricted"
    )
    await api.post("/api/v1/namespaces", namespace("c"))
    for name in ("p", "o", "q"):
        await api.post("/api/v1/namespaces/c/pods", {"metadata": {"name": name}, "spec": PRIVILEGED})
    await api.post("/api/v1/namespaces/c/pods", {"metadata": {"name": "n"}, "spec": SPEC | {"hostNetwork": True}})
    stricter = await api.patch("/api/v1/namespaces/c", namespace("c", enforce="baseline"))
    assert (stricter.code, warnings(stricter)) == (
        200,
        [
            f'299 - "{EXISTING}"',
            '299 - "n: host namespaces"',
            '299 - "o (and 2 other pods): privileged"',
        ],
    )
    weaker = await api.patch("/api/v1/namespaces/c", namespace("c", enforce="privileged"))
    assert (weaker.code, warnings(weaker)) == (200, [])
