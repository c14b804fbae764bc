# mockube and an etcd for it, for compose.yaml: `docker compose up`. Alone: `docker build -t mockube .`, docs/containers.md.
# Nothing runs as root, and nothing writes but to volumes and /tmp: the root file system may be read-only.

FROM python:3.12.12-slim-bookworm AS base
ENV PYTHONUNBUFFERED=1 PYTHONSAFEPATH=1 PYTHONDONTWRITEBYTECODE=1
RUN groupadd --gid 10001 mockube \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/mockube --shell /usr/sbin/nologin mockube


# What is installed comes as wheels: there is no compiler, here or in what is made of it.
FROM base AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY etcd etcd
COPY apiserver apiserver
COPY controller_manager controller_manager
COPY mockube mockube
RUN python -m venv /opt/mockube \
    && /opt/mockube/bin/pip install --no-cache-dir --disable-pip-version-check --only-binary=:all: . \
    && /opt/mockube/bin/pip uninstall --yes --quiet pip


# Debian's etcd; its folders have our user, so that volumes begin with that owner.
FROM base AS etcd
RUN apt-get update \
    && apt-get install --yes --no-install-recommends etcd-server etcd-client \
    && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/etcd /etc/etcd
ENV ETCDCTL_API=3
USER 10001:10001
WORKDIR /var/lib/etcd
EXPOSE 2379
HEALTHCHECK --interval=3s --timeout=5s --start-period=60s --retries=5 \
    CMD ["etcdctl", "--endpoints=http://127.0.0.1:2379", "endpoint", "health"]
CMD ["etcd", "--data-dir=/var/lib/etcd"]


# By itself it is a whole cluster that keeps its data in /var/lib/mockube; compose.yaml starts its parts one by one.
FROM base AS mockube
RUN install --directory --owner=10001 --group=10001 --mode=0700 /etc/mockube /etc/etcd /var/lib/mockube
COPY --from=build /opt/mockube /opt/mockube
ENV PATH=/opt/mockube/bin:$PATH
USER 10001:10001
WORKDIR /var/lib/mockube
EXPOSE 6443
HEALTHCHECK --interval=3s --timeout=5s --start-period=60s --retries=5 \
    CMD ["mockube", "ready", "https://127.0.0.1:6443/readyz", "--certificate-authority=/var/lib/mockube/pki/ca.crt"]
CMD ["mockube", "up", "--bind=0.0.0.0", "--data-dir=/var/lib/mockube"]
