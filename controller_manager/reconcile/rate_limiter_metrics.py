"""The gauge of the client's rate limiter that controllers of release 1.20 have."""

from controller_manager.reconcile.contract import Gauge
from controller_manager.reconcile.metric_defs import Meter, Reading


def rate_limiter_use(owner: str) -> Gauge:
    """Return the gauge of a controller, such as "deployment_controller"; it is always 0, since nothing ever set it.

    (component-base/metrics/prometheus/ratelimiter RegisterMetricAndTrackRateLimiterUsage)
    """
    meter = Meter(f"{owner}_rate_limiter_use", f"Use of the rate limiter of {owner}.", feature="rate_limiter_use")
    return Gauge(meter, lambda _: (Reading(0.0),))
