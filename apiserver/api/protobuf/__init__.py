"""Protobuf bodies of Go clients (client-go since 0.32, so kubectl since 1.32), decoded to plain objects.

A message is a row of messages.json: field number → JSON name and kind, with the numbers of k8s.io/api of Kubernetes
1.37. Numbers never change, so one table serves every version. Responses stay JSON, which those clients accept too;
only errors (Status objects) are encoded in protobuf as well.
"""

from apiserver.api.protobuf.envelope import read_object
from apiserver.api.protobuf.status import encode_status
from apiserver.api.protobuf.wire import MalformedError

__all__ = ["MalformedError", "encode_status", "read_object"]
