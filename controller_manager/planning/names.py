"""Names that the server completes, of what controllers make for an object."""

_LONGEST = 252  # with its dash it is a DNS subdomain


def generate_name(owner: str) -> str:
    """The metadata.generateName of what is made for an object of a name: with a dash, where that is a name still.

    (controller_utils.go GetPodFromTemplate, endpointslice/utils.go getEndpointSlicePrefix)
    """
    return f"{owner}-" if len(owner) <= _LONGEST else owner
