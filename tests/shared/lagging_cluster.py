"""A controller beside a fake server, with caches that lag behind it."""

import copy
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fake_server import FakeServer

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import (
    Action,
    Batch,
    Change,
    ControllerSpec,
    Create,
    DelayedKey,
    Delete,
    Enqueue,
    Patch,
    RecordEvent,
    Request,
    Requeue,
    RequeueAfter,
    Trigger,
    Update,
    key_of,
    triggered_keys,
)
from controller_manager.reconcile.kinds import CLAIM, CONTROLLER_REVISION, POD, Kind
from controller_manager.reconcile.metric_defs import RecordMetric
from controller_manager.runtime.cache import Caches


def answers_to(batch: Batch, answer: Callable[[Any], Any]) -> list[Any]:
    """Answers as the manager gives them: a slow start stops after the first round with an error."""
    replies: list[Any] = []
    size = 1 if batch.slow_start else len(batch.requests)
    while len(replies) < len(batch.requests):
        batch_replies = [answer(request) for request in batch.requests[len(replies) : len(replies) + size]]
        replies += batch_replies
        if batch.slow_start and any(isinstance(reply, ApiError) for reply in batch_replies):
            break
        size *= 2
    return replies + [None] * (len(batch.requests) - len(replies))


@dataclass
class RunResult:
    """The requests and events of one run of a controller.

    Attributes:
        events: as the cluster tells them.
        types: whether they are "Normal" or a "Warning".
    """

    requests: list[Any] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    error: ApiError | None = None

    def names(self, verb: type[Create | Update | Patch | Delete], kind: Kind = POD) -> list[str]:
        matching = [request for request in self.requests if isinstance(request, verb) and request.kind == kind]
        return [(r.key if isinstance(r, Delete | Patch) else key_of(r.obj)).partition("/")[2] for r in matching]

    @property
    def made(self) -> list[str]:
        return self.names(Create)

    @property
    def deleted(self) -> list[str]:
        return self.names(Delete)

    @property
    def updated(self) -> list[str]:
        return self.names(Update)

    @property
    def claimed(self) -> list[str]:
        return self.names(Create, CLAIM)

    @property
    def quiet(self) -> bool:
        return not self.requests and not self.events and self.error is None


class LaggingCluster:
    """A server, caches that lag behind it, and a controller; subclasses say which key may run when.

    Attributes:
        seen: kind → how much of the server's log the caches have seen.
        own: kind → how much of it they have to have seen before the controller runs again.
    """

    def __init__(self, spec: ControllerSpec, world: Caches, server: FakeServer) -> None:
        self.spec, self.world, self.server = spec, world, server
        self.seen: dict[Any, int] = dict.fromkeys(server.objects, 0)
        self.own: dict[Any, int] = dict.fromkeys(server.objects, 0)
        for watch in spec.watches:
            if watch.trigger is not None:
                world.get_or_create(watch.kind).add_listener(partial(self._listen, watch.trigger))

    def _listen(self, trigger: Trigger, change: Change) -> None:
        self.wake(set(triggered_keys(trigger, self.world, change)))

    def wake(self, keys: Collection[str | DelayedKey]) -> None:
        """Enqueue these keys, as a trigger does."""
        raise NotImplementedError

    def event_text(self, event: RecordEvent) -> str:
        """Return the text of an event, as a run keeps it."""
        return f"{event.reason}: {event.message}"

    # -- the caches

    def deliver(self, kind: Kind, upto: int | None = None) -> None:
        """Let the caches see the log of a kind up to a position."""
        log = self.server.log[kind]
        upto = len(log) if upto is None else upto
        while self.seen[kind] < upto:
            obj, there = log[self.seen[kind]]
            self.seen[kind] += 1
            cache = self.world.get_or_create(kind)
            (cache.put if there else cache.remove)(copy.deepcopy(obj))

    def deliver_all(self) -> None:
        for kind in self.seen:
            self.deliver(kind)

    def relist(self, kind: Kind) -> None:
        """Lose the events of a kind that were not seen yet; after a broken watch, caches get a list of what is left."""
        self.seen[kind] = len(self.server.log[kind])
        objects = copy.deepcopy(list(self.server.objects[kind].values()))
        self.world.get_or_create(kind).replace(objects, self.server.revision)

    def catch_up(self, *, fresh: bool) -> None:
        """Let the caches see everything, or what the controller itself has written."""
        for kind in self.seen:
            self.deliver(kind, None if fresh else max(self.own[kind], self.seen[kind]))

    # -- the controller

    def carry_out(self, key: str, actions: int | None = None) -> RunResult:
        """Reconcile a key by what the caches show, and do so many of its actions, or all."""
        ran = RunResult()
        if (seen := self.spec.observe(self.world, key)) is None:
            return ran
        plan, reply = self.spec.reconcile(seen, self.server.now), None
        try:
            while actions is None or actions > 0:
                action = plan.throw(reply) if isinstance(reply, ApiError) else plan.send(reply)
                reply = self._do(action, ran)
                actions = None if actions is None else actions - 1
            plan.close()
        except StopIteration:
            pass
        except ApiError as error:
            ran.error = error
        return ran

    def _do(self, action: Action, ran: RunResult) -> Any:
        match action:
            case RecordEvent():
                ran.events.append(self.event_text(action))
                ran.types.append(action.type)
            case RequeueAfter(seconds=seconds):
                ran.later.append(seconds)
            case RecordMetric():
                pass
            case Batch():
                return answers_to(action, partial(self._ask, ran))
            case Requeue() | Enqueue():
                raise AssertionError(f"nobody here does {action}")
            case _:
                return self._ask(ran, action)
        return None

    def _ask(self, ran: RunResult, request: Request) -> Obj | ApiError:
        ran.requests.append(request)
        answer = self.server.perform(request)
        self.own[request.kind] = len(self.server.log[request.kind])
        return answer

    # -- what people see

    @property
    def revisions(self) -> list[Obj]:
        """The revisions, oldest first."""
        return sorted(self.server.objects[CONTROLLER_REVISION].values(), key=lambda each: each["revision"])
