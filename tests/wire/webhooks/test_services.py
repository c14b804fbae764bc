"""Webhooks behind a Service: reached at its annotation, its external name, or an address of its EndpointSlices."""

import pytest
from hook_server import allow

from apiserver.webhook.services import Location, ResolveError, ServiceResolver

MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
CALL = 'Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: '


def at_service(hook, **fields):
    return {"service": {"namespace": "default", "name": "hook", "path": "/v"} | fields, "caBundle": hook.ca_bundle}


async def make_service(api, annotations=None, **spec):
    ports = [{"name": "https", "port": 443, "targetPort": 9443}]
    body = {"metadata": {"name": "hook", "annotations": annotations or {}}, "spec": {"ports": ports} | spec}
    assert (await api.post(SERVICES, body)).code == 201


async def make_slice(api, address, port, **endpoint):
    body = {
        "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}},
        "addressType": "IPv4",
        "ports": [{"name": "https", "port": port}],
        "endpoints": [{"addresses": [address]} | endpoint],
    }
    assert (await api.post(SLICES, body)).code == 201


async def test_a_service_is_reached_at_the_address_in_its_annotation(api, hook, hooks, config_map):
    await make_service(api, {"mockube.io/endpoint": f"127.0.0.1:{hook.port}"})
    hook.answers["/v"] = allow
    await hooks.validating("/v", clientConfig=at_service(hook))
    assert (await api.post(MAPS, config_map())).code == 201
    assert len(hook.requests("/v")) == 1


async def test_the_certificate_must_have_the_name_of_the_service(api, hook, hooks, config_map):
    service = {"metadata": {"name": "other", "annotations": {"mockube.io/endpoint": f"127.0.0.1:{hook.port}"}}}
    await api.post(SERVICES, service | {"spec": {"ports": [{"port": 443}]}})
    await hooks.validating("/v", clientConfig=at_service(hook, name="other", port=443))
    assert (await api.post(MAPS, config_map())).message == (
        f'{CALL}Post "https://other.default.svc:443/v?timeout=10s": tls: failed to verify certificate: x509: '
        "certificate is valid for localhost, hook.default.svc, not other.default.svc"
    )


async def test_a_service_that_is_missing_or_that_nothing_serves_is_named(api, hook, hooks, config_map):
    url = "https://hook.default.svc:443/v?timeout=10s"
    await hooks.validating("/v", clientConfig=at_service(hook))
    assert (await api.post(MAPS, config_map())).message == f'{CALL}Post "{url}": service "hook" not found'
    await make_service(api)
    message = f'{CALL}Post "{url}": no endpoints available for service "hook"'
    assert (await api.post(MAPS, config_map())).message == message


@pytest.mark.parametrize(
    ("annotation", "spec", "port", "expected"),
    [
        ("127.0.0.1:9443", {}, 443, Location("127.0.0.1", 9443)),
        ("https://[::1]:9443/", {}, 443, Location("::1", 9443)),
        ("", {"type": "ExternalName", "externalName": "localhost"}, 9443, Location("localhost", 9443)),
        ("", {}, 443, Location("192.0.2.7", 8443)),
        ("", {}, 444, 'no service port 444 found for service "hook"'),
        ("nowhere", {}, 443, 'the annotation mockube.io/endpoint of service "hook" is not HOST:PORT: "nowhere"'),
    ],
)
async def test_a_service_is_resolved(api, annotation, spec, port, expected):
    await make_service(api, {"mockube.io/endpoint": annotation} if annotation else None, **spec)
    await make_slice(api, "192.0.2.7", 8443)
    resolver = ServiceResolver(api.running.registry.storage.store)
    if isinstance(expected, str):
        with pytest.raises(ResolveError, match=expected.replace(".", r"\.")):
            resolver.resolve("default", "hook", port)
    else:
        assert resolver.resolve("default", "hook", port) == expected


async def test_an_endpoint_that_is_not_ready_does_not_serve(api):
    await make_service(api)
    await make_slice(api, "192.0.2.7", 8443, conditions={"ready": False})
    with pytest.raises(ResolveError, match="no endpoints available"):
        ServiceResolver(api.running.registry.storage.store).resolve("default", "hook", 443)
