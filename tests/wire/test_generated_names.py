"""metadata.generateName where names are taken: the server tries eight names (store.go createWithGenerateNameRetry)."""

from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from apiserver.registry.clock import RandomIds

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
JOB = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
ATTEMPTS = 8


class ScriptedIds(RandomIds):
    """Ids whose suffixes are those that a test lists.

    Attributes:
        drawn: how many suffixes the server took.
    """

    def __init__(self, suffixes: Iterator[str]) -> None:
        super().__init__()
        self._suffixes = suffixes
        self.drawn = 0

    def suffix(self) -> str:
        self.drawn += 1
        return next(self._suffixes)


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
@pytest.mark.parametrize("taken", range(ATTEMPTS))
async def test_a_generated_name_that_is_taken_is_drawn_again(opened, taken: int, query: str) -> None:
    ids = ScriptedIds(chain(repeat("taken", taken), ("free2",)))
    async with opened(ids=ids) as api:
        await api.make("a-taken")
        reply = await api.post(CONFIG_MAPS + query, {"metadata": {"generateName": "a-"}})
    assert (reply.code, reply.json["metadata"]["name"]) == (201, "a-free2")
    assert ids.drawn == taken + 1


@pytest.mark.parametrize(
    ("path", "resource", "body"),
    [
        (CONFIG_MAPS, "configmaps", {}),
        (SERVICES, "services", {"spec": {"ports": [{"port": 80}]}}),
        (JOBS, "jobs.batch", JOB),
    ],
)
async def test_after_eight_names_that_are_taken_the_client_is_to_try_again(opened, path, resource, body) -> None:
    ids = ScriptedIds(repeat("taken"))
    async with opened(ids=ids) as api:
        await api.make("a-taken", path=path, **body)
        reply = await api.post(path, {"metadata": {"generateName": "a-"}} | body)
    assert (reply.code, reply.json["reason"]) == (409, "AlreadyExists")
    assert ids.drawn == ATTEMPTS
    assert reply.message == (
        f'{resource} "a-taken" already exists, the server was not able to generate a unique name for the object'
    )
    group = {"group": resource.partition(".")[2]} if "." in resource else {}
    kind = {"name": "a-taken", "kind": resource.partition(".")[0], "retryAfterSeconds": 1}
    assert reply.json["details"] == kind | group
    assert reply.headers["Retry-After"] == "1"


async def test_a_name_that_the_client_chose_is_tried_once_though_it_gives_a_prefix_as_well(opened) -> None:
    """Upstream words the refusal by the prefix alone (rest.CheckGeneratedNameError)."""
    ids = ScriptedIds(repeat("free2"))
    async with opened(ids=ids) as api:
        await api.make("mine")
        reply = await api.post(CONFIG_MAPS, {"metadata": {"name": "mine", "generateName": "a-"}})
    assert ids.drawn == 0
    assert reply.code == 409
    assert reply.message == (
        'configmaps "mine" already exists, the server was not able to generate a unique name for the object'
    )


async def test_a_name_whose_last_bearer_is_being_deleted_says_so(opened) -> None:
    async with opened(ids=ScriptedIds(repeat("taken"))) as api:
        await api.post(CONFIG_MAPS, {"metadata": {"name": "a-taken", "finalizers": ["example.com/wait"]}})
        await api.delete(f"{CONFIG_MAPS}/a-taken")
        generated = await api.post(CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
        chosen = await api.post(CONFIG_MAPS, {"metadata": {"name": "a-taken"}})
    refusal = 'object is being deleted: configmaps "a-taken" already exists'
    assert generated.message == f"{refusal}, the server was not able to generate a unique name for the object"
    assert chosen.message == refusal


async def test_a_job_has_the_name_that_it_got_at_last_in_its_labels_and_no_trace_of_those_before(opened) -> None:
    async with opened(ids=ScriptedIds(chain(repeat("taken", 3), ("free2",)))) as api:
        await api.make("a-taken", path=JOBS, **JOB)
        job = (await api.post(JOBS, {"metadata": {"generateName": "a-"}} | JOB)).json
        named = (await api.post(f"{JOBS}?dryRun=All", {"metadata": {"name": "b"}} | JOB)).json
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels["job-name"] == labels["batch.kubernetes.io/job-name"] == job["metadata"]["name"] == "a-free2"
    assert labels["controller-uid"] == job["metadata"]["uid"]
    assert labels.keys() == named["spec"]["template"]["metadata"]["labels"].keys()
    assert job["metadata"]["labels"] == labels


async def test_a_name_that_is_wrong_is_not_drawn_again(opened) -> None:
    ids = ScriptedIds(repeat("free2"))
    async with opened(ids=ids) as api:
        reply = await api.post(CONFIG_MAPS, {"metadata": {"generateName": "A-"}})
    assert (reply.code, ids.drawn) == (422, 1)
