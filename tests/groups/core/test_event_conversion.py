"""Events as events.k8s.io names their fields, and as they are stored."""

from apiserver.registry.kind_tables import CONVERSIONS

NEW = {
    "metadata": {"name": "e"},
    "regarding": {"kind": "Pod"},
    "note": "n",
    "reason": "r",
    "type": "Normal",
    "reportingController": "example.com/c",
    "reportingInstance": "i",
    "deprecatedSource": {"component": "c"},
    "deprecatedFirstTimestamp": "2027-01-15T08:00:00Z",
    "deprecatedLastTimestamp": "2027-01-15T08:00:01Z",
    "deprecatedCount": 2,
    "eventTime": "2027-01-15T08:00:00.000000Z",
}
STORED = {
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod"},
    "message": "n",
    "reason": "r",
    "type": "Normal",
    "reportingComponent": "example.com/c",
    "reportingInstance": "i",
    "source": {"component": "c"},
    "firstTimestamp": "2027-01-15T08:00:00Z",
    "lastTimestamp": "2027-01-15T08:00:01Z",
    "count": 2,
    "eventTime": "2027-01-15T08:00:00.000000Z",
}


def test_each_field_has_its_other_name() -> None:
    conversion = CONVERSIONS["events.k8s.io", "v1", "Event"]
    assert conversion.to_storage(NEW) == STORED
    assert conversion.from_storage(STORED) == NEW
