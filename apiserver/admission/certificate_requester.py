"""CertificateRequester: sets the requesting user of a CertificateSigningRequest, whatever its body says."""

from apiserver.api.meta import Obj
from apiserver.registry.admission import CREATE, Attributes, Handles


class CertificateRequester:
    """Sets the user of a request; upstream's strategy, which knows the user, does this."""

    name = "CertificateRequester"
    handles = (Handles(CREATE, frozenset((("certificates.k8s.io", "CertificateSigningRequest"),))),)

    async def admit(self, attributes: Attributes) -> None:
        """Set the user of a new signing request."""
        assert attributes.obj is not None
        user = attributes.user
        extra = {key: list(values) for key, values in user.extra.items()}
        user_fields: Obj = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
        spec = attributes.obj.setdefault("spec", {})
        for name, value in user_fields.items():
            spec.pop(name, None)
            if value:
                spec[name] = value
