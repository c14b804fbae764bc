"""Log records as lines of key="value" pairs (logfmt), the same for the server and the controller manager."""

import json
import logging


class Lines(logging.Formatter):
    """A record as one line, whatever it says; a traceback is one of its values."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told = {"msg": record.getMessage()}
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        quoted = " ".join(f"{key}={json.dumps(value)}" for key, value in told.items())
        return f'time="{self.formatTime(record)}" level={record.levelname} logger={record.name} {quoted}'
