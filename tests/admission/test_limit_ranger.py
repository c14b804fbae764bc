import pytest

from apiserver.admission.limit_ranger import ANNOTATION, LimitRanger

KEY = "limitranges/ns/l"
CONTAINER = {
    "type": "Container",
    "min": {"cpu": "100m"},
    "max": {"cpu": "1", "memory": "1Gi"},
    "default": {"cpu": "500m", "memory": "256Mi"},
    "defaultRequest": {"cpu": "200m", "memory": "256Mi"},
    "maxLimitRequestRatio": {"cpu": "4"},
}


def spec(*limits):
    return {"spec": {"limits": list(limits)}}


def pod(*resources, init=()):
    containers = [{"name": f"c{number}", "image": "i", "resources": each} for number, each in enumerate(resources)]
    initial = [{"name": f"i{number}", "image": "i"} | each for number, each in enumerate(init)]
    return {
        "metadata": {"name": "x"},
        "spec": {"containers": containers} | ({"initContainers": initial} if initial else {}),
    }


def both(cpu="500m", memory="256Mi", request="200m"):
    return {"requests": {"cpu": request, "memory": "256Mi"}, "limits": {"cpu": cpu, "memory": memory}}


async def test_containers_get_the_defaults_that_they_lack_and_the_pod_says_which(store, put, write):
    await put(KEY, spec(CONTAINER))
    given = pod({}, {"requests": {"cpu": "300m"}}, init=[{}])
    shared = given["spec"]["containers"][0]
    made, _ = await write(LimitRanger(store), "Pod", given)
    assert [each["resources"] for each in made["spec"]["containers"]] == [both(), both(request="300m")]
    assert made["spec"]["initContainers"][0]["resources"] == both()
    assert made["metadata"]["annotations"][ANNOTATION] == (
        "LimitRanger plugin set: cpu, memory request for container c0; cpu, memory limit for container c0; "
        "memory request for container c1; cpu, memory limit for container c1; "
        "cpu, memory request for init container i0; cpu, memory limit for init container i0"
    )
    assert shared["resources"] == {}, "what may be shared with other pods is copied first"


async def test_pods_of_other_namespaces_and_those_that_lack_nothing_stay_as_they_are(store, put, write):
    await put("limitranges/other/l", spec(CONTAINER))
    assert (await write(LimitRanger(store), "Pod", pod({})))[0] == pod({})
    await put(KEY, spec(CONTAINER))
    assert (await write(LimitRanger(store), "Pod", pod(both())))[0] == pod(both())


@pytest.mark.parametrize(
    ("limit", "given", "why"),
    [
        (CONTAINER, pod(both(memory="2Gi")), "maximum memory usage per Container is 1Gi, but limit is 2Gi"),
        (
            CONTAINER,
            pod(both(cpu="900m", request="100m")),
            "cpu max limit to request ratio per Container is 4, but provided ratio is 9.000000",
        ),
        (
            CONTAINER,
            pod(both(request="50m", cpu="200m")),
            "minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            {"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}},
            pod({}),
            (
                "[minimum cpu usage per Container is 1.  No request is specified, "
                "maximum cpu usage per Container is 2.  No limit is specified]"
            ),
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            pod({"limits": {"cpu": "1"}, "requests": {"cpu": "0"}}),
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            pod({"requests": {"cpu": "1"}}),
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
        (
            {"type": "Container", "max": {"cpu": "1"}},
            pod({"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}),
            "maximum cpu usage per Container is 1, but request is 2",
        ),
        (
            {"type": "Container", "min": {"cpu": "1"}},
            pod({"limits": {"cpu": "500m"}, "requests": {"cpu": "1"}}),
            "minimum cpu usage per Container is 1, but limit is 500m",
        ),
        (
            {"type": "Pod", "max": {"cpu": "2"}},
            pod(*[{"limits": {"cpu": "900m"}, "requests": {"cpu": "900m"}}] * 3),
            "maximum cpu usage per Pod is 2, but limit is 2700m",
        ),
        (
            {"type": "Pod", "max": {"cpu": "2"}},
            pod(
                {"limits": {"cpu": "1"}},
                init=[
                    {"resources": {"limits": {"cpu": "1"}}, "restartPolicy": "Always"},
                    {"resources": {"limits": {"cpu": "1500m"}}},
                ],
            ),
            "maximum cpu usage per Pod is 2, but limit is 2500m",
        ),
    ],
)
async def test_a_pod_outside_the_bounds_is_refused_with_all_reasons(store, put, refusal, limit, given, why):
    await put(KEY, spec(limit))
    assert await refusal(LimitRanger(store), "Pod", given) == (403, why)


def claim(storage):
    return {"metadata": {"name": "x"}, "spec": {"resources": {"requests": {"storage": storage} if storage else {}}}}


CLAIMS = {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}}


@pytest.mark.parametrize(
    ("given", "old", "why"),
    [
        (
            claim("500Mi"),
            None,
            "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi",
        ),
        (claim("6Gi"), claim("2Gi"), "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"),
        (
            claim(None),
            None,
            (
                "[minimum storage usage per PersistentVolumeClaim is 1Gi.  No request is specified, "
                "maximum storage usage per PersistentVolumeClaim is 5Gi.  No request is specified]"
            ),
        ),
    ],
)
async def test_a_claim_outside_the_bounds_is_refused(store, put, refusal, given, old, why):
    await put(KEY, spec(CLAIMS))
    assert await refusal(LimitRanger(store), "PersistentVolumeClaim", given, old=old) == (403, why)


async def test_what_is_stored_already_is_not_refused_later(store, put, write, refusal):
    ranger = LimitRanger(store)
    await put(KEY, spec(CLAIMS, {"type": "Container", "max": {"cpu": "1"}}))
    await write(ranger, "PersistentVolumeClaim", claim("9Gi"), old=claim("9Gi"))
    large, larger = pod({"limits": {"cpu": "2"}}), pod({"limits": {"cpu": "3"}})
    await write(ranger, "Pod", larger, old=large)  # no resource changes but by a resize
    await write(ranger, "Pod", large, old=large, subresource="resize")
    why = "maximum cpu usage per Container is 1, but limit is 3"
    assert await refusal(ranger, "Pod", larger, old=large, subresource="resize") == (403, why)
    larger["metadata"]["deletionTimestamp"] = large["metadata"]["deletionTimestamp"] = "2027-01-01T00:00:00Z"
    await write(ranger, "Pod", larger, old=large, subresource="resize")


async def test_a_limit_range_counts_from_its_creation_to_its_deletion(store, put, write, refusal):
    ranger, too_large = LimitRanger(store), pod({"limits": {"cpu": "2"}})
    await write(ranger, "Pod", too_large)
    await put(KEY, spec({"type": "Pod", "max": {"cpu": "1"}}))
    assert (await refusal(ranger, "Pod", too_large))[0] == 403
    await put(KEY, spec({"type": "Pod", "max": {"cpu": "3"}}))
    await write(ranger, "Pod", too_large)
    await put(KEY, spec({"type": "Pod", "max": {"cpu": "1"}}))
    await store.delete(f"/registry/{KEY}")
    await write(ranger, "Pod", too_large)
