"""AlwaysPullImages: every image is pulled each time, so that nobody runs one without the right to pull it."""

from apiserver.api import errors, field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.registry.admission import WRITES, Attributes, Handles

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


class AlwaysPullImages:
    """The plug-in of that name (plugin/pkg/admission/alwayspullimages)."""

    name = "AlwaysPullImages"
    handles = (Handles(WRITES, frozenset((("", "Pod"),)), frozenset(("", "ephemeralcontainers"))),)

    async def admit(self, attributes: Attributes) -> None:
        """Set imagePullPolicy to Always in all containers; an update that changes no image is left alone."""
        pod = attributes.obj
        assert pod is not None
        if attributes.old is not None and _images(pod["spec"]) <= _images(attributes.old["spec"]):
            return
        spec = pod["spec"] = dict(pod["spec"])
        for name in CONTAINERS:
            if spec.get(name):
                spec[name] = [{**container, "imagePullPolicy": "Always"} for container in spec[name]]
        volumes = spec.get("volumes") or []
        if any(volume.get("image") is not None for volume in volumes):
            spec["volumes"] = [_always_pulled(volume) for volume in volumes]

    async def validate(self, attributes: Attributes) -> None:
        """Refuse a pod with another imagePullPolicy, which only another plug-in can have set.

        Raises:
            ApiError: 422.
        """
        pod = attributes.obj
        assert pod is not None
        if attributes.old is not None and _images(pod["spec"]) <= _images(attributes.old["spec"]):
            return
        invalid: list[FieldError] = []
        for name in CONTAINERS:
            for index, container in enumerate(pod["spec"].get(name) or ()):
                if container.get("imagePullPolicy") != "Always":
                    path = f"spec.{name}[{index}].imagePullPolicy"
                    invalid.append(field.not_supported(path, container.get("imagePullPolicy") or "", ("Always",)))
        if invalid:
            raise errors.invalid("", "Pod", name=pod["metadata"].get("name") or "", errors=invalid)


def _always_pulled(volume: Obj) -> Obj:
    image = volume.get("image")
    return volume if image is None else {**volume, "image": {**image, "pullPolicy": "Always"}}


def _images(spec: Obj) -> set[str]:
    return {container.get("image") or "" for name in CONTAINERS for container in spec.get(name) or ()}
