"""`mockube certificates`: makes, and renews, certificates for servers started by others, such as compose.yaml's."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from mockube.certificates import Certificates, certificate_hosts, ensure_certificates, ensure_etcd_certificates
from mockube.failures import fail, fail_on_file
from mockube.files import InUseError, locked, make_private_directory
from mockube.flags.certificates import KubeconfigTarget
from mockube.flags.stores import default_data_dir
from mockube.kubeconfig import ClusterAccess, KubeconfigError, write_kubeconfig


def run(options: argparse.Namespace) -> int:
    """Make what is missing and return the exit code."""
    if options.etcd_host and not options.etcd_dir:
        return fail("--etcd-host: give --etcd-dir as well")
    directory = (options.data_dir or default_data_dir()).expanduser().absolute()
    try:
        make_private_directory(directory)
        with locked(directory):
            _make_certificates(directory, options)
    except (InUseError, KubeconfigError) as error:
        return fail(error)
    except OSError as error:
        return fail_on_file(error, "name a place that can be written")
    return 0


def _make_certificates(directory: Path, options: argparse.Namespace) -> None:
    now = time.time()
    hosts = [*options.host, *(target.host for target in options.kubeconfig)]
    names = certificate_hosts(hosts, options.service_cluster_ip_range)
    certificates = ensure_certificates(directory / "pki", names, now=now)
    print(f"Certificates for {', '.join(names)} are in {certificates.directory}.")
    _write_kubeconfigs(options.kubeconfig, certificates)
    if options.etcd_dir:
        directory_of_etcd = options.etcd_dir.expanduser().absolute() / "pki"
        ensure_etcd_certificates(directory_of_etcd, options.etcd_host, now=now)
        print(f"Certificates for etcd are in {directory_of_etcd}.")


def _write_kubeconfigs(kubeconfigs: Sequence[KubeconfigTarget], certificates: Certificates) -> None:
    """Write the kubeconfigs."""
    for target in kubeconfigs:
        file = target.file.expanduser().absolute()
        write_kubeconfig(file, ClusterAccess(target.url, certificates.authority.read_bytes(), certificates.token))
        print(f"{file} leads to {target.url}.")
