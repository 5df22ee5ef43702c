"""The letters of our shapes, and the types that carry them.

S draws, N cases, C channels, O outputs, T points, M modes, K chains, P parameters,
D features. Shapes are checked in tests only; at run time nothing beyond torch, numpy and
scipy is needed, so that the package runs from its source on a machine that has just those.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtyping import Bool, Complex, Float, Int
else:
    try:
        from jaxtyping import Bool, Complex, Float, Int
    except ImportError:

        class _Plain:
            """Stands in for a shape type: `Float[Tensor, "N T"]` is then just `Tensor`."""

            def __class_getitem__(cls, item: tuple[Any, str]) -> Any:  # noqa: ANN401
                return item[0]

        Bool = Complex = Float = Int = _Plain

__all__ = ["Bool", "Complex", "Float", "Int"]
