"""CertificateRequester: the requesting user of a CertificateSigningRequest, and the times of its conditions."""

from collections.abc import Callable

from apiserver.api.meta import Obj
from apiserver.api.user import User
from apiserver.registry.admission import WRITES, Attributes, Handles


class CertificateRequester:
    """Does what upstream's strategy does, which knows the user and the time (registry/certificates/certificates)."""

    name = "CertificateRequester"
    handles = (
        Handles(
            WRITES,
            frozenset((("certificates.k8s.io", "CertificateSigningRequest"),)),
            frozenset(("", "approval", "status")),
        ),
    )

    def __init__(self, now: Callable[[], str]) -> None:
        """Store the clock: `now` returns the time as objects have it."""
        self._now = now

    async def admit(self, attributes: Attributes) -> None:
        """Set the user of a new request, whatever its body says, and the times of conditions that have none."""
        obj, old = attributes.obj, attributes.old
        if attributes.operation == "CREATE" and obj is not None:
            _set_requester(obj, attributes.user)
        elif attributes.target.subresource in ("approval", "status") and obj is not None and old is not None:
            self._set_times(obj, old)

    def _set_times(self, new: Obj, old: Obj) -> None:
        """Fill the times of conditions (populateConditionTimestamps); a condition that was there keeps its own."""
        status = new.get("status") or {}
        conditions = status.get("conditions")
        if not conditions:
            return
        known_conditions = (old.get("status") or {}).get("conditions") or ()
        before = {(each.get("type"), each.get("status")): each for each in known_conditions}
        filled = []
        for condition in conditions:
            known = before.get((condition.get("type"), condition.get("status"))) or {}
            times = {
                "lastUpdateTime": condition.get("lastUpdateTime") or self._now(),
                "lastTransitionTime": condition.get("lastTransitionTime")
                or known.get("lastTransitionTime")
                or self._now(),
            }
            filled.append(condition | times)
        new["status"] = status | {"conditions": filled}


def _set_requester(request: Obj, user: User) -> None:
    extra = {key: list(values) for key, values in user.extra.items()}
    user_fields: Obj = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    spec = request.setdefault("spec", {})
    for name, value in user_fields.items():
        spec.pop(name, None)
        if value:
            spec[name] = value
