"""The log of a program: lines of key="value" pairs (logfmt) on stderr."""

import json
import logging


class Lines(logging.Formatter):
    """A formatter that writes each record as one line, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        values = {"msg": record.getMessage()}
        if record.exc_info:
            values["error"] = self.formatException(record.exc_info)
        quoted = " ".join(f"{key}={json.dumps(value)}" for key, value in values.items())
        return f'time="{self.formatTime(record)}" level={record.levelname} logger={record.name} {quoted}'


def log_to_stderr(level: int) -> None:
    """Log records from this level on as lines to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=level, handlers=[handler])
