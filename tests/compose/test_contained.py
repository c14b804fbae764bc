"""The commands of compose.yaml as they are: with its names, its ports, a read-only root, and no capabilities."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Stack = Any
Kubectl = Any


@pytest.mark.kubectl
def test_the_services_work_by_their_names_with_nothing_to_write_to_and_no_powers(
    contained: Stack, kubectl_at: Callable[..., Kubectl]
) -> None:
    kubectl = kubectl_at(contained.volume("certificates") / "kubeconfig")
    there = f"--server=https://{contained.hosts['apiserver']}:6443 --tls-server-name=127.0.0.1"
    kubectl.output(f"{there} create deployment web --image=nginx --replicas=3")
    kubectl.output(f"{there} wait deployment web --for=condition=Available --timeout=300s")
    kubectl.says(f"{there} exec deployment/web -- echo hello", "hello")
    for service, process in contained.running.items():
        if process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE), service
            mounted = Path(f"/proc/{process.pid}/mountinfo").read_text()
            assert re.search(r"^\S+ \S+ \S+ \S+ / ro\b", mounted, re.MULTILINE), service
