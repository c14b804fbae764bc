"""What controllers of the release 1.20 tell of their client's rate limiter: that there is one."""

from controller_manager.reconcile.contract import Gauge
from controller_manager.reconcile.metric_defs import Meter, Reading


def rate_limiter_use(owner: str) -> Gauge:
    """The gauge of a controller, such as "deployment_controller"; 0 always, since nothing ever set it.

    (component-base/metrics/prometheus/ratelimiter RegisterMetricAndTrackRateLimiterUsage)
    """
    meter = Meter(f"{owner}_rate_limiter_use", f"Use of the rate limiter of {owner}.", feature="rate_limiter_use")
    return Gauge(meter, lambda _: (Reading(0.0),))
