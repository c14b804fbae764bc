"""Protobuf bodies: what Go clients send (client-go since 0.32, so kubectl since 1.32), read into plain objects.

A message is a row of messages.json: field number → JSON name and kind, as k8s.io/api of Kubernetes 1.37 numbers them.
Numbers never change, so one table serves every version. Answers stay JSON, which those clients take too; only a
Status, which is what errors are, is written in protobuf as well.
"""

from apiserver.api.protobuf.envelope import read_object
from apiserver.api.protobuf.status import encode_status
from apiserver.api.protobuf.wire import MalformedError

__all__ = ["MalformedError", "encode_status", "read_object"]
