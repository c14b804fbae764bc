"""Whether and when a container that ended, or an image that could not be pulled, is tried again."""

from apiserver.api.meta import Obj

FIRST, LONGEST = 10, 300
"""Seconds of the first back-off, which doubles, and of the last (kubelet.go backOffPeriod, MaxContainerBackOff)."""
FORGIVEN = 2 * LONGEST
"""A container that ran for so many seconds starts again at once (flowcontrol.Backoff)."""
NOTICED = 1
"""Seconds until the kubelet notices that a container ended (pleg.go, a relist a second)."""
TOLD = 2
"""Seconds for which a failed pull shows as such, before it shows as waiting for the next."""


def should_restart(container: Obj, policy: str, code: int) -> bool:
    """Whether a container that ended is started again (podutil.ContainerShouldRestart).

    Args:
        container: its own policy and rules, if it has any, come before the pod's (KEP-5307).
        policy: of the pod.
        code: with which it ended.
    """
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        listed = code in (codes.get("values") or ())
        if rule.get("action") == "Restart" and listed == (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or policy
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def restart_delay(restarts: int, ran: float) -> int:
    """Seconds between a container's end and its next start.

    The status tells of the last run alone, so a run that is forgiven does not make later waits shorter, as it does
    upstream.

    Args:
        restarts: how often it was started again before.
        ran: seconds that the last run took.
    """
    if restarts == 0 or ran >= FORGIVEN:
        return 0
    return _doubled(restarts - 1)


def _doubled(times: int) -> int:
    return min(FIRST << min(times, 5), LONGEST)


def pull_attempt(elapsed: float) -> int:
    """The number, from 0, of the last pull that is due so many seconds after the first."""
    number = 0
    while elapsed >= pull_due(number + 1):
        number += 1 if number < 5 else max(1, int(elapsed - pull_due(number)) // LONGEST)
    return number


def pull_due(number: int) -> int:
    """Seconds after the first pull at which another is due: back-offs of 10, 20, 40 … 300 seconds lie between them."""
    doubled = min(number, 5)
    return FIRST * ((1 << doubled) - 1) + LONGEST * (number - doubled)
