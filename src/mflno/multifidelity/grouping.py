"""Places that belong together."""

from collections.abc import Hashable, Sequence


def alike(keys: Sequence[Hashable]) -> list[list[int]]:
    """Places of equal keys, together, in order of appearance.

    Example:
        >>> alike(["a", "b", "a"])
        [[0, 2], [1]]
    """
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return list(places.values())
