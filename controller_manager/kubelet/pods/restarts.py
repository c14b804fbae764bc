"""Restart and back-off rules for containers that ended and images that could not be pulled."""

from apiserver.api.meta import Obj

INITIAL_BACKOFF, MAX_BACKOFF = 10, 300
"""The seconds of the first back-off, which doubles, and of the longest.

(kubelet.go backOffPeriod, MaxContainerBackOff)
"""
BACKOFF_RESET = 2 * MAX_BACKOFF
"""A container that ran for that many seconds is restarted at once (flowcontrol.Backoff)."""
RELIST_PERIOD = 1
"""The seconds until the kubelet notices that a container ended (pleg.go, a relist every second)."""
PULL_ERROR_SECONDS = 2
"""The seconds for which a failed pull shows as such, before it shows as waiting for the next."""


def should_restart(container: Obj, policy: str, code: int) -> bool:
    """Return True if a container that ended is restarted (podutil.ContainerShouldRestart).

    Args:
        container: its own policy and rules, if it has any, come before the pod's (KEP-5307).
        policy: the pod's restart policy.
        code: the exit code.
    """
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        listed = code in (codes.get("values") or ())
        if rule.get("action") == "Restart" and listed == (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or policy
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def restart_delay(restarts: int, ran: float) -> int:
    """Return the seconds between a container's end and its next start.

    The status shows only the last run, so that a run long enough to reset the back-off does not shorten later waits, as
    it does upstream.

    Args:
        restarts: how often it was restarted before.
        ran: the seconds that the last run took.
    """
    if restarts == 0 or ran >= BACKOFF_RESET:
        return 0
    return _doubled(restarts - 1)


def _doubled(times: int) -> int:
    return min(INITIAL_BACKOFF << min(times, 5), MAX_BACKOFF)


def pull_attempt(elapsed: float) -> int:
    """Return the number, from 0, of the last pull that is due that many seconds after the first."""
    number = 0
    while elapsed >= pull_due(number + 1):
        number += 1 if number < 5 else max(1, int(elapsed - pull_due(number)) // MAX_BACKOFF)
    return number


def pull_due(number: int) -> int:
    """Return the seconds from the first pull to another; the back-offs between pulls are 10, 20, 40 … 300 seconds."""
    doubled = min(number, 5)
    return INITIAL_BACKOFF * ((1 << doubled) - 1) + MAX_BACKOFF * (number - doubled)
