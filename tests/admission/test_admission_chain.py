"""The chain: which plug-ins run, in which order and phase, and what they see."""

import pytest

from apiserver.admission.metrics import AdmissionMetrics
from apiserver.admission.plugins import ORDERED, PluginContext, enabled_plugins
from apiserver.api.errors import ApiError
from apiserver.api.user import User
from apiserver.app import serving
from apiserver.auth.authorization import AlwaysAllow, AuthorizerUnion
from apiserver.config import Config, ConfigError, check, from_arguments
from apiserver.registry.admission import ALL, CREATE, Attributes, Chain, Handles, forbidden
from apiserver.registry.options import Target


@pytest.mark.parametrize(
    ("target", "obj", "name"),
    [
        ("a", {"metadata": {"name": "b"}}, "a"),
        ("", {"metadata": {"name": "b", "generateName": "c-"}}, "b"),
        ("", {"metadata": {"generateName": "web-5d8-"}}, "web-5d8-"),
        ("", {"metadata": {}}, "Unknown"),
        ("", None, "Unknown"),
    ],
)
def test_a_plug_in_that_refuses_names_the_object_as_far_as_it_has_a_name(rows, target, obj, name):
    refused = forbidden(Attributes("CREATE", Target(rows["Pod"], "ns", target), User("u"), obj=obj), "no")
    assert refused.message == f'pods "{name}" is forbidden: no'


class Recorder:
    """A plug-in that notes its calls in both phases."""

    def __init__(self, name, calls, *handles, reinvokes=False):
        self.name, self.handles = name, handles or (Handles(ALL, subresources=None),)
        self._calls, self._reinvokes = calls, reinvokes

    async def admit(self, attributes):
        state = attributes.reinvocation
        self._calls.append(f"{self.name} again" if state and state.is_reinvoke else self.name)
        if self._reinvokes:
            attributes.get_reinvocation().should_reinvoke = True

    async def validate(self, attributes):  # noqa: ARG002 - the contract
        self._calls.append(f"{self.name} validates")


class OnlyValidates:
    name = "OnlyValidates"
    handles = (Handles(ALL),)

    def __init__(self, calls):
        self._calls = calls

    async def validate(self, attributes):
        self._calls.append(f"{self.name} {attributes.operation}")


PODS = frozenset((("", "Pod"),))


@pytest.mark.parametrize(
    ("operation", "kind", "subresource", "expected"),
    [
        ("CREATE", "Pod", "", ["everything", "new pods", "everything validates", "new pods validates"]),
        ("CREATE", "Pod", "eviction", ["everything", "everything validates"]),
        ("UPDATE", "Pod", "", ["everything", "everything validates"]),
        ("CREATE", "Service", "", ["everything", "everything validates"]),
        ("CONNECT", "Pod", "exec", ["everything", "execs", "everything validates", "execs validates"]),
    ],
)
async def test_a_plug_in_is_asked_only_about_writes_that_it_handles(rows, operation, kind, subresource, expected):
    calls: list[str] = []
    chain = Chain(
        [
            Recorder("everything", calls),
            Recorder("new pods", calls, Handles(CREATE, PODS)),
            Recorder("execs", calls, Handles(frozenset(("CONNECT",)), PODS, frozenset(("exec",)))),
        ]
    )
    for _ in range(2):
        calls.clear()
        attributes = Attributes(operation, Target(rows[kind], "ns", "x", subresource), User("u"), obj={})
        await chain.admit(attributes)
        await chain.validate(attributes)
        assert calls == expected


async def test_a_plug_in_without_a_mutating_phase_is_called_in_the_other_alone(rows):
    calls: list[str] = []
    chain, attributes = Chain([OnlyValidates(calls)]), Attributes("DELETE", Target(rows["Pod"]), User("u"), old={})
    await chain.admit(attributes)
    assert not calls
    await chain.validate(attributes)
    assert calls == ["OnlyValidates DELETE"]


async def test_all_mutating_plug_ins_run_once_more_if_one_asks_for_it(rows):
    calls: list[str] = []
    chain = Chain([Recorder("first", calls), Recorder("second", calls, reinvokes=True)])
    await chain.admit(Attributes("CREATE", Target(rows["Pod"]), User("u"), obj={}))
    assert calls == ["first", "second", "first again", "second again"]


@pytest.mark.parametrize(
    ("operation", "given", "expected"),
    [
        ("CREATE", {}, {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}),
        (
            "UPDATE",
            {"dryRun": ["All"], "fieldManager": "me"},
            {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"], "fieldManager": "me"},
        ),
        ("DELETE", {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 3}, None),
        ("CONNECT", {}, {}),
    ],
)
def test_the_options_of_a_write_are_an_object_of_their_kind(rows, operation, given, expected):
    attributes = Attributes(operation, Target(rows["Pod"]), User("u"), given_options=given)
    assert attributes.options == (given if expected is None else expected)


@pytest.fixture
async def context():
    async with serving(check(Config(secure_port=0))) as running:
        yield PluginContext(running.registry, AdmissionMetrics(), AuthorizerUnion([AlwaysAllow()]), 37)


def names(plugins):
    return [plugin.name for plugin in plugins]


def test_flags_add_plug_ins_and_leave_others_out_in_the_one_order(context):
    usual = names(enabled_plugins(context, (), ()))
    assert "AlwaysDeny" not in usual
    assert usual == [row.name for row in ORDERED if row.name in usual]
    changed = names(enabled_plugins(context, ("AlwaysDeny", "AlwaysAdmit"), ("Priority",)))
    assert changed == ["AlwaysAdmit", *(name for name in usual if name != "Priority"), "AlwaysDeny"]


def test_plug_ins_whose_work_only_controllers_finish_need_controllers(context):
    assert "StorageObjectInUseProtection" in names(enabled_plugins(context, (), ()))
    alone = context._replace(has_controllers=False)
    assert "StorageObjectInUseProtection" not in names(enabled_plugins(alone, (), ()))
    assert "StorageObjectInUseProtection" in names(enabled_plugins(alone, ("StorageObjectInUseProtection",), ()))


@pytest.mark.parametrize(
    ("enable", "disable", "problem"),
    [
        (("Nothing",), (), 'enable-admission-plugins plugin "Nothing" is unknown'),
        ((), ("Nothing",), 'disable-admission-plugins plugin "Nothing" is unknown'),
        (
            ("Priority", "AlwaysDeny"),
            ("AlwaysDeny", "Priority"),
            "[AlwaysDeny Priority] in enable-admission-plugins and disable-admission-plugins overlapped",
        ),
        (("KruiseSets",), (), 'enable-admission-plugins plugin "KruiseSets" is unknown'),
    ],
)
def test_names_that_cannot_be_switched_are_refused(enable, disable, problem):
    with pytest.raises(ConfigError) as refused:
        check(Config(enable_admission_plugins=enable, disable_admission_plugins=disable))
    assert str(refused.value).startswith(problem)


def test_flags_may_be_repeated_and_list_names():
    config, _ = from_arguments(
        ["--enable-admission-plugins=AlwaysAdmit", "--enable-admission-plugins=AlwaysDeny,Priority"]
    )
    assert config.enable_admission_plugins == ("AlwaysAdmit", "AlwaysDeny", "Priority")


async def test_always_deny_refuses_in_upstreams_words(rows, context):
    chain = Chain(enabled_plugins(context, ("AlwaysDeny",), ("NamespaceLifecycle",)))
    with pytest.raises(ApiError) as refused:
        await chain.admit(Attributes("CREATE", Target(rows["ConfigMap"], "ns", "x"), User("u"), obj={"metadata": {}}))
    assert refused.value.message == 'configmaps "x" is forbidden: admission control is denying all modifications'
