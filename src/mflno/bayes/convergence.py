"""Whether chains agree and how many independent draws they are worth, in function space.

Parameters of a network are not identified: two states that predict alike may be far apart, so
R-hat of parameters means nothing. Here a chain is what it predicts at probe points. Chains
must have one law to be compared: one temperature, separate ladders or separate chains. A chain
of a ladder is the row at its temperature, not the state that wanders through the rows.

Reference: Vehtari, Gelman, Simpson, Carpenter, Buerkner, Rank-normalization, folding, and
localization: an improved R-hat, 2021.
"""

from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from scipy import special
from scipy.stats import rankdata
from torch import Tensor

from mflno.bayes.draws import Draws
from mflno.errors import ArgumentError
from mflno.shapes import Float

_CHUNK = 2**20


@dataclass(frozen=True)
class Mixing:
    """R-hat and effective sample sizes at each probe.

    Attributes:
        rhat: Rank-normalised split R-hat, the larger of bulk and folded; below 1.01 is good.
        bulk: Effective sample size for the centre of the law; 100 a chain is good.
        tail: The same for its 5 % and 95 % quantiles, the smaller.
    """

    rhat: Float[ndarray, " D"]
    bulk: Float[ndarray, " D"]
    tail: Float[ndarray, " D"]

    def __str__(self) -> str:
        worst = self.rhat.max(), self.bulk.min(), self.tail.min()
        return "R-hat {:.3f}, effective draws {:.0f} (bulk), {:.0f} (tail)".format(*worst)


def mixing(chains: Float[ndarray, "K I D"]) -> Mixing:
    """Diagnose K chains of I draws each at D probes.

    Args:
        chains: Predictions of chains that have one law, warm-up left out.

    Example:
        >>> noise = np.random.default_rng(0).standard_normal((4, 500, 1))
        >>> bool(mixing(noise).rhat[0] < 1.01), bool(mixing(noise).bulk[0] > 1500)
        (True, True)
    """
    count, length, probes = chains.shape
    if length < 4 or count < 2:
        rule, came = "two or more chains of four or more draws", f"{count} of {length}"
        remedy = "run replicate ladders, and keep more draws of each"
        raise ArgumentError("mixing.chains", rule, came, remedy)
    if not np.all(np.isfinite(chains)):
        rule, remedy = "must be finite", "drop the diverged draws"
        raise ArgumentError("mixing.chains", rule, "NaN or infinity", remedy)
    step = max(1, _CHUNK // (count * length))
    parts = [_mixing(chains[..., start : start + step]) for start in range(0, probes, step)]
    return Mixing(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def chains_of(draws: Draws, predictions: Float[Tensor, "S D"]) -> Float[ndarray, "K I D"]:
    """Predictions of draws, sorted into one row for each chain of each ladder.

    Args:
        draws: Draws of one temperature from two or more ladders or chains; take the cold ones
            of a ladder by `draws.where(draws.chain == 0)`.
        predictions: What each draw predicts at the probes.
    """
    temperatures = np.unique(draws.temperature.cpu().numpy())
    if len(temperatures) > 1:
        rule = "chains of one temperature: laws at two temperatures differ by design"
        came = f"{len(temperatures)} temperatures"
        remedy = "take draws.where(draws.chain == 0) of replicate ladders"
        raise ArgumentError("chains_of.draws", rule, came, remedy)
    values = predictions.detach().cpu().numpy().astype(float)
    steps = draws.step.cpu().numpy()
    owners = np.stack([draws.ladder.cpu().numpy(), draws.chain.cpu().numpy()], 1)
    names, owner, sizes = np.unique(owners, axis=0, return_inverse=True, return_counts=True)
    # a quarantined chain misses draws; the tails that all have are compared
    shortest = int(sizes.min())
    rows = []
    for index in range(len(names)):
        mine = np.flatnonzero(owner.ravel() == index)
        rows.append(values[mine[np.argsort(steps[mine])]][-shortest:])
    return np.stack(rows)


def _mixing(chains: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """R-hat, bulk and tail sizes of one chunk of probes, the axis of probes put first."""
    whole = np.ascontiguousarray(np.moveaxis(chains, -1, 0))
    halves = _split(whole)
    centre = np.median(halves, axis=(1, 2), keepdims=True)
    normal = _normal_scores(halves)
    rhat = np.maximum(_rhat(normal), _rhat(_normal_scores(np.abs(halves - centre))))
    tails = []
    for probability in (0.05, 0.95):
        edge = np.quantile(whole, probability, axis=(1, 2), keepdims=True)
        tails.append(_effective(_split((whole <= edge).astype(float))))
    return rhat, _effective(normal), np.minimum(*tails)


def _split(chains: ndarray) -> ndarray:
    half = chains.shape[-1] // 2
    return np.concatenate([chains[..., :half], chains[..., -half:]], axis=1)


def _normal_scores(chains: ndarray) -> ndarray:
    """Normal quantiles of the pooled ranks, with Blom's offset of 3/8."""
    flat = chains.reshape(len(chains), -1)
    ranks = rankdata(flat, axis=1)
    return special.ndtri((ranks - 0.375) / (flat.shape[1] + 0.25)).reshape(chains.shape)


def _rhat(chains: ndarray) -> ndarray:
    """sqrt((B / W + n - 1) / n); 1 where nothing varies, infinite where only chains differ."""
    length = chains.shape[-1]
    between = length * chains.mean(-1).var(-1, ddof=1)
    within = chains.var(-1, ddof=1).mean(-1)
    tiny = 1e-14 * np.maximum(between, 1.0)
    ratio = np.where(within > tiny, between / np.maximum(within, tiny), np.inf)
    ratio = np.where((within <= tiny) & (between <= 1e-14), 1.0, ratio)
    return np.sqrt((ratio + length - 1) / length)


def _effective(chains: ndarray) -> ndarray:
    """Effective sample size from autocorrelations pooled over chains.

    Pairs rho_2m + rho_2m+1 are summed while positive and made to fall (Geyer); the last pair
    counts by its even term alone.
    """
    count, length = chains.shape[1:]
    covariance = _autocovariance(chains).mean(1)
    within = covariance[:, 0] * length / (length - 1)
    total = covariance[:, 0] + chains.mean(-1).var(-1, ddof=1)
    flat = np.ptp(chains, axis=(1, 2)) < 1e-15
    total = np.where(flat, 1.0, total)
    rho = 1.0 - (within[:, None] - covariance) / total[:, None]
    rho[:, 0] = 1.0
    last = max((length - 3) // 2, 0)
    even, odd = rho[:, 0 : 2 * last + 1 : 2], rho[:, 1 : 2 * last + 2 : 2]
    pairs = even + odd
    negative = pairs <= 0
    stop = np.where(negative.any(1), negative.argmax(1), last)
    index = np.arange(last + 1)
    falling = np.minimum.accumulate(np.where(index < stop[:, None], pairs, np.inf), axis=1)
    summed = np.where(index < stop[:, None], falling, 0.0).sum(1)
    final = np.take_along_axis(even, stop[:, None], 1)[:, 0]
    closed = np.take_along_axis(negative, stop[:, None], 1)[:, 0]
    time = -1.0 + 2.0 * summed + np.where(closed, np.maximum(final, 0.0), final)
    size = count * length
    return np.where(flat, size, size / np.maximum(time, 1.0 / np.log10(size)))


def _autocovariance(chains: ndarray) -> ndarray:
    """Biased autocovariance along the last axis, by zero-padded Fourier transform."""
    length = chains.shape[-1]
    centred = chains - chains.mean(-1, keepdims=True)
    padded = 2 ** int(np.ceil(np.log2(2 * length)))
    power = np.abs(np.fft.rfft(centred, padded, axis=-1)) ** 2
    return np.fft.irfft(power, padded, axis=-1)[..., :length] / length
