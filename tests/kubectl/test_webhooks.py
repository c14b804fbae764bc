"""kubectl where webhooks deny, warn and change what it creates; the configuration is that of docs/webhooks.md."""

import asyncio

from hook_server import add, hook_server, patch

CONFIGURATION = """
apiVersion: admissionregistration.k8s.io/v1
kind: {kind}WebhookConfiguration
metadata:
  name: {name}
webhooks:
- name: widgets.example.com
  clientConfig:
    service: {{name: hook, namespace: {namespace}, path: /{path}}}
    caBundle: {ca_bundle}
  rules:
  - {{operations: [CREATE, UPDATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}}
  namespaceSelector:
    matchLabels: {{kubernetes.io/metadata.name: {namespace}}}
  sideEffects: None
  admissionReviewVersions: [v1]
"""


async def test_a_webhook_behind_an_annotated_service_denies_warns_and_changes(kubectl, tmp_path):
    namespace = kubectl.namespace
    async with hook_server(tmp_path / "hook", names=(f"hook.{namespace}.svc",)) as hook:
        hook.answers["/mutating"] = patch(add("/data/by", "hook"))
        hook.answers["/validating"] = lambda review: {
            "allowed": review["request"]["name"] != "bad",
            "warnings": ["looked at"],
            "status": {"message": "that name is bad"},
        }
        await asyncio.to_thread(kubectl.says, "create service clusterip hook --tcp=443", "service/hook created")
        annotation = f"mockube.io/endpoint=127.0.0.1:{hook.port}"
        await asyncio.to_thread(kubectl.says, f"annotate service hook {annotation}", "service/hook annotated")
        for kind in ("Mutating", "Validating"):
            manifest = CONFIGURATION.format(
                kind=kind, path=kind.lower(), name=namespace, namespace=namespace, ca_bundle=hook.ca_bundle
            )
            created = f"{kind.lower()}webhookconfiguration.admissionregistration.k8s.io/{namespace} created"
            await asyncio.to_thread(kubectl.says, "apply -f -", created, manifest)
        good = "create configmap good --from-literal=a=b"
        await asyncio.to_thread(kubectl.says, good, "configmap/good created\nWarning: looked at")
        assert (
            await asyncio.to_thread(kubectl.output, "get configmap good -o jsonpath={.data}") == '{"a":"b","by":"hook"}'
        )
        words = r'(Warning: looked at\n)?[Ee]rror.*: admission webhook "widgets.example.com" denied the request: .* bad'
        await asyncio.to_thread(kubectl.refuses, "create configmap bad --from-literal=a=b", words)
        assert (await asyncio.to_thread(kubectl.run, "delete validatingwebhookconfiguration " + namespace)).code == 0
