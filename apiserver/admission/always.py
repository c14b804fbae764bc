"""AlwaysAdmit and AlwaysDeny: the two plug-ins that look at nothing (plugin/pkg/admission/admit and deny)."""

from apiserver.registry.admission import ALL, Attributes, Handles, forbidden


class AlwaysAdmit:
    """Lets everything pass, as a chain without plug-ins does."""

    name = "AlwaysAdmit"
    handles: tuple[Handles, ...] = ()


class AlwaysDeny:
    """Refuses every write."""

    name = "AlwaysDeny"
    handles = (Handles(ALL, subresources=None),)

    async def admit(self, attributes: Attributes) -> None:
        """Refuse the write.

        Raises:
            ApiError: 403.
        """
        raise forbidden(attributes, "admission control is denying all modifications")

    async def validate(self, attributes: Attributes) -> None:
        """Refuse the write."""
        await self.admit(attributes)
