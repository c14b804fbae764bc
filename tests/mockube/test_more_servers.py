"""Servers beside the first one have its settings."""

from pathlib import Path

import pytest

from apiserver.config import Config, check, from_arguments
from mockube.control_plane import control_plane
from mockube.servers import arguments


@pytest.mark.parametrize("changed", [True, False])
async def test_another_server_is_started_with_the_settings_of_the_first(tmp_path: Path, *, changed: bool) -> None:
    config = check(
        Config(
            secure_port=0,
            kubernetes_version="1.34" if changed else "",
            empties_namespaces=not changed,
            kruise=changed,
            warn_unsupported=not changed,
            enable_admission_plugins=("AlwaysAdmit",) if changed else (),
            disable_admission_plugins=("Priority", "DefaultStorageClass") if changed else (),
        )
    )
    async with control_plane(config, tmp_path) as running:
        other, _ = from_arguments(arguments(running, config))
    assert other.permit_port_sharing
    for name in (
        "version",
        "empties_namespaces",
        "kruise",
        "warn_unsupported",
        "service_cluster_ip_range",
        "enable_admission_plugins",
        "disable_admission_plugins",
    ):
        assert getattr(other, name) == getattr(config, name)
