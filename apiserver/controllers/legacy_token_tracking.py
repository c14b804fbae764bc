"""Labels the Secrets of service account tokens with the day of their last use (pkg/serviceaccount/legacy.go).

Upstream writes the label while it authenticates the request; here a background task does.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, labels_of
from apiserver.api.user import User
from apiserver.registry.context import Registry
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.update import modify

log = logging.getLogger("apiserver")

LAST_USED = "kubernetes.io/legacy-token-last-used"
OPTIONS = WriteOptions(User("system:apiserver", groups=("system:masters",)), manager="kube-apiserver")


class LegacyTokenTracker:
    """Collects the Secrets whose tokens are used, and labels each once a day."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Store the clock: `now` returns the seconds since 1970."""
        self._now = now
        self._used: dict[tuple[str, str], str] = {}
        self._any = asyncio.Event()

    def note(self, secret: Obj) -> None:
        """Note the Secret of a token that was used, unless its label says so already."""
        moment = datetime.fromtimestamp(self._now(), UTC)
        days = (_day(moment), _day(moment + timedelta(days=1)))  # other servers' clocks may be ahead
        if labels_of(secret).get(LAST_USED) not in days:
            meta = secret["metadata"]
            self._used[meta["namespace"], meta["name"]] = meta["uid"]
            self._any.set()

    async def run(self, registry: Registry) -> None:
        """Label Secrets until cancelled."""
        resource = registry.table.find("", "v1", "secrets")
        assert resource is not None, "every release has them"
        while True:
            await self._any.wait()
            self._any.clear()
            while self._used:
                (namespace, name), uid = self._used.popitem()
                try:
                    await self._label(registry, Target(resource, namespace, name), uid)
                except ApiError as error:
                    log.info("the last use of the token in secret %s/%s is not noted: %s", namespace, name, error)

    async def _label(self, registry: Registry, target: Target, uid: str) -> None:
        day = _day(datetime.fromtimestamp(self._now(), UTC))

        def change(old: Obj) -> Obj:
            meta = old["metadata"]
            if meta["uid"] != uid:
                return old  # another Secret of the same name
            return old | {"metadata": meta | {"labels": {**labels_of(old), LAST_USED: day}}}

        await modify(registry, target, change, OPTIONS)


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")
