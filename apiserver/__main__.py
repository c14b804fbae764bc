"""`python -m apiserver`: the service by itself, with kube-apiserver's flags."""

import gc
import logging
import sys
from collections.abc import Sequence

from apiserver.app import serving
from apiserver.component_base.logs import log_to_stderr
from apiserver.component_base.process import fail, print_ready, run, spare_collector, stop_signal
from apiserver.config import Config, ConfigError, from_arguments

log = logging.getLogger("apiserver")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes; return the exit code, 2 if the settings are invalid."""
    try:
        config, verbosity = from_arguments(arguments)
        set_up_logging(verbosity)
        run(serve(config))
    except ConfigError as error:
        return fail("apiserver", error)
    return 0


def set_up_logging(verbosity: int) -> None:
    """Log to stderr; from verbosity 1 on, one line for every request."""
    log_to_stderr(logging.INFO)
    logging.getLogger("apiserver.access").setLevel(logging.INFO if verbosity > 0 else logging.WARNING)


async def serve(config: Config) -> None:
    """Serve until SIGINT, SIGTERM, or the end of standard input if the settings say so."""
    stop = stop_signal(with_input=config.until_stdin_ends)
    gc.disable()  # a start makes hardly any garbage
    async with serving(config) as running:
        spare_collector()
        log.info("serving Kubernetes %s at %s", config.version, running.url)
        if config.until_stdin_ends:
            print_ready(f"ready at {running.url}")
        await stop.wait()


if __name__ == "__main__":
    sys.exit(main())
