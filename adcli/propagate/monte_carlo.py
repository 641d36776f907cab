"""Propagation of distributions by Monte Carlo, with the native code of the program itself (JCGM 101:2008, Evaluation of
measurement data: Supplement 1 to the GUM: Propagation of distributions using a Monte Carlo method).

Samples are drawn and computed in blocks, each with a random stream of its own, so that any number of them takes the same memory
and the figures do not depend on the number of threads. The ends of coverage intervals are exact order statistics of all
samples: the first blocks bound each end so closely that of the others only a few values have to be kept (the idea of selection by
sampling: Floyd and Rivest, Expected time bounds for selection, 1975). Only the shortest interval needs all of them.
"""
from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adcli.answers.overlap import Pool
from adcli.codegen.machine.arrays import run_arrays
from adcli.codegen.machine.kernel import Kernel, processors
from adcli.lang.ir.errors import AdError, plural
from adcli.propagate.draws import Draws

if TYPE_CHECKING:
    from adcli.propagate.given import Sampling

HELD = 1 << 22
"""Doubles of one block, inputs and outputs together."""
BLOCK_SAMPLES = 1 << 16
"""Samples of one block at most."""
KEPT_DOUBLES = 1 << 23
"""Doubles that are kept around the ends of all outputs together, before the bounds of the ends are drawn closer."""
DEVIATIONS = 10.0
"""How many standard deviations the bounds of an end lie from where it is expected; beyond them with probability 1e-23."""
NAN = math.nan
SIGNIFICANCE = 0.001
"""Probability that a model which is exact is said to differ, or its ends to be within the tolerance when they are not."""
AUTO_MOST = 10**8
"""Samples that are drawn at most where their number is not given."""
SHORTEST_MOST = 10**8
"""Values of all outputs together that are kept for shortest intervals."""


class Experiment(NamedTuple):
    """A program with uncertain inputs: its `kernel` (outputs, then the status), the names and values of all inputs in order,
    and how the uncertain ones are drawn."""

    kernel: Kernel
    inputs: Mapping[str, float]
    draws: Draws

    @property
    def rows(self) -> int:
        """Samples of a block."""
        held = len(self.inputs) + len(self.draws.uncertain) + self.kernel.entry.outputs
        return max(256, min(BLOCK_SAMPLES, HELD // held))


Band = tuple[float, float]
"""Bounds of a quantile of the distribution that samples come from, by order statistics."""


@dataclass(frozen=True)
class Sampled:
    """Figures of the samples of one output, with the standard error of each figure; `bad` of them are NaN or infinite and
    count for nothing else. The true ends of the interval lie in the bands except with probability `SIGNIFICANCE`."""

    mean: float
    u: float
    low: float
    high: float
    mean_error: float
    u_error: float
    low_error: float
    high_error: float
    bad: int
    low_band: Band
    high_band: Band
    shortest: tuple[float, float] | None = None

    @property
    def figures(self) -> dict[str, tuple[float, float]]:
        """Figures with their standard errors."""
        return {"mean": (self.mean, self.mean_error), "u": (self.u, self.u_error), "low": (self.low, self.low_error),
                "high": (self.high, self.high_error)}

    @property
    def stable(self) -> bool:
        """True if twice every standard error is within the numerical tolerance (JCGM 101, 7.9.4)."""
        return not any(2 * error > tolerance(self.u) for _, error in self.figures.values())


class Told(NamedTuple):
    """Result of a run: the figures of every output, the matrix of their correlations, how many samples were drawn, and those of
    the first output that were to be kept."""

    outputs: list[Sampled]
    correlations: np.ndarray
    samples: int
    kept: np.ndarray


def sample(experiment: Experiment, how: Sampling, jobs: int | None, progress: Callable[[int], None], keep: int = 0) -> Told:
    """Draw so many samples, or as many as make the figures stable (JCGM 101, 7.9, which looks after every doubling), and keep the
    first `keep` of them; `progress` hears how many are done. AdError where shortest intervals need more memory than there should
    be."""
    size, outputs = experiment.rows, experiment.kernel.entry.outputs - 1
    room = SHORTEST_MOST // outputs if how.shortest else 10**18
    if how.samples and how.samples > room:
        raise AdError(f"⟦--shortest⟧ keeps every sample: at most {room} for {plural(outputs, 'output')}")
    most = how.samples or min(AUTO_MOST, room)
    blocks = ((i, min(size, most - at)) for i, at in enumerate(range(0, most, size)))
    first = drawn(experiment, how.seed, (0, min(size, most)))
    tallies = [SampleTally(column, how.coverage, KEPT_DOUBLES // len(first), how.shortest) for column in first]

    def reduced(block: tuple[int, int]) -> tuple[list[Block], np.ndarray, np.ndarray]:
        outputs = drawn(experiment, how.seed, block)
        kept = outputs[0, :max(0, keep - block[0] * size)].copy()
        return [t.reduced(c) for t, c in zip(tallies, outputs, strict=True)], products(tallies, outputs), kept

    threads, taken, look = jobs or processors(), 0, 1
    done, kept = 0, [np.empty(0)]
    together = np.zeros((len(first) + 1, len(first) + 1))
    with Pool(threads) as pool:
        while group := list(islice(blocks, 4 * threads if how.samples else min(4 * threads, look - taken))):
            for found, more, some in map(pool.result, [pool.submit(reduced, block) for block in group]):
                together += more
                kept.append(some)
                for tally, block in zip(tallies, found, strict=True):
                    tally.take(block)
            for tally in tallies:
                tally.tighten()
            taken, done = taken + len(group), done + sum(count for _, count in group)
            progress(done)
            if how.samples is None and taken == look:
                if all(tally.figures().stable for tally in tallies):
                    break
                look *= 2
    return Told([replace(tally.figures(), shortest=tally.shortest()) for tally in tallies], correlated(together), done,
                np.concatenate(kept))


def drawn(experiment: Experiment, seed: int, block: tuple[int, int]) -> np.ndarray:
    """The outputs for the samples of a block, one row an output. Its random stream depends on the seed and its number."""
    number, size = block
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,))))
    uncertain = experiment.draws.block(random, size)
    columns = [uncertain[name] if name in uncertain else np.full(size, x) for name, x in experiment.inputs.items()]
    results = run_arrays(experiment.kernel, columns, size)
    return np.array(results[:-1]).reshape(len(results) - 1, size)


# ---------------------------------------------------------------- figures from blocks

class Block(NamedTuple):
    """Summary of a block: how many samples are bad, the sums of the powers 0 to 4, what lies around the two ends, and all
    values where they are needed."""

    bad: int
    powers: np.ndarray
    ends: tuple[Around, Around]
    every: np.ndarray | None


class Around(NamedTuple):
    """Samples around an end: how many lie below its bounds, how many on the lower one, and those between."""

    below: int
    on_low: int
    between: np.ndarray


class SampledEnd:
    """One end of a coverage interval: the quantile p of all samples, exactly.

    Values between `low` and `high` are kept, those on `low` and below it are counted. The bounds are drawn closer as more
    samples come; the end leaves them with negligible probability.
    """

    def __init__(self, p: float, most: int) -> None:
        self.p, self.most = p, most
        self.low, self.high = -math.inf, math.inf
        self.below = self.on_low = self.held = 0
        self.between: list[np.ndarray] = []

    def around(self, good: np.ndarray) -> Around:
        inside = good[(good > self.low) & (good < self.high)]
        return Around(int(np.count_nonzero(good < self.low)), int(np.count_nonzero(good == self.low)), inside)

    def take(self, found: Around) -> None:
        self.below += found.below
        self.on_low += found.on_low
        self.between.append(found.between)
        self.held += len(found.between)

    def tighten(self, count: int) -> None:
        """Draw the bounds closer, if too many values are held, for `count` samples so far."""
        if self.held <= self.most:
            return
        values = np.sort(np.concatenate(self.between))
        passed = self.below + self.on_low
        reach = DEVIATIONS * (math.sqrt(count * self.p * (1 - self.p)) + 1)
        first, last = math.floor(count * self.p - reach) - passed, math.ceil(count * self.p + reach) - passed
        if 0 <= first < len(values):
            self.low = float(values[first])
            start, end = (int(np.searchsorted(values, self.low, side)) for side in ("left", "right"))
            self.below, self.on_low = passed + start, end - start
        else:
            end = 0
        if 0 <= last < len(values):
            self.high = float(values[last])
        self.between = [values[end:np.searchsorted(values, self.high, "left")].copy()]
        self.held = len(self.between[0])
        self.most = max(self.most, 2 * self.held)

    def at_rank(self, rank: int, count: int) -> tuple[float, float, Band]:
        """The order statistic of this rank, from 1, of `count` samples; its standard error, half the distance of those that lie
        one standard deviation of the rank to either side; and the band that the quantile is in."""
        values = np.sort(np.concatenate(self.between))

        def value(r: int) -> float:
            place = min(max(r, 1), count) - self.below - self.on_low - 1
            return self.low if place < 0 else self.high if place >= len(values) else float(values[place])

        reach = max(1, math.ceil(math.sqrt(rank * (count - rank) / count)))
        first, last = sure_ranks(count, self.p)
        band = value(first) if first else -math.inf, value(last) if last <= count else math.inf
        return value(rank), (value(rank + reach) - value(rank - reach)) / 2, band


def sure_ranks(count: int, p: float) -> tuple[int, int]:
    """The ranks of the order statistics that the quantile p lies between, but for a quarter of the `SIGNIFICANCE` on each side:
    it has two ends. By the bound of Chernoff on the binomial distribution (Hoeffding 1963, theorem 1), which holds for any
    distribution and any number of samples; 0 and `count` + 1 where there are too few."""
    needed = math.log(4 / SIGNIFICANCE) / count

    def sure(rank: int) -> bool:
        """True if it is sure that not so few, or so many, samples lie below the quantile."""
        q = rank / count
        return (q * math.log(q / p) if q else 0.0) + ((1 - q) * math.log((1 - q) / (1 - p)) if q < 1 else 0.0) >= needed

    first = bisect_left(range(math.floor(count * p)), True, key=lambda rank: not sure(rank))
    above = math.ceil(count * p) + 1
    return first, above + bisect_left(range(above, count + 1), True, key=sure)


class SampleTally:
    """The samples of one output, so far: sums of powers, and both ends.

    Powers are those of (v − shift)/scale, taken from the `first` samples, so that sums neither cancel nor overflow. `most`
    values are kept around the ends.
    """

    def __init__(self, first: np.ndarray, coverage: float, most: int, every: bool = False) -> None:
        finite = np.sort(first[np.isfinite(first)])
        self.shift = float(finite[len(finite) // 2]) if len(finite) else 0.0
        self.scale = float(finite[-1] / 2 - finite[0] / 2) if len(finite) else 0.0
        self.scale = self.scale or 1.0
        self.bad, self.powers, self.coverage = 0, np.zeros(5), coverage
        self.every: list[np.ndarray] | None = [] if every else None
        self.ends = tuple(SampledEnd(p, max(most // 2, 1 << 12)) for p in ((1 - coverage) / 2, (1 + coverage) / 2))

    def reduced(self, column: np.ndarray) -> Block:
        """Summary of these samples."""
        good = column[np.isfinite(column)]
        d = (good - self.shift) / self.scale
        squares = d * d
        powers = np.array([len(good), d.sum(), squares.sum(), (squares * d).sum(), (squares * squares).sum()])
        low, high = (end.around(good) for end in self.ends)
        return Block(len(column) - len(good), powers, (low, high), good if self.every is not None else None)

    def take(self, block: Block) -> None:
        self.bad += block.bad
        self.powers += block.powers
        for end, found in zip(self.ends, block.ends, strict=True):
            end.take(found)
        if self.every is not None and block.every is not None:
            self.every.append(block.every)

    def tighten(self) -> None:
        for end in self.ends:
            end.tighten(int(self.powers[0]))

    def figures(self) -> Sampled:
        """Mean and standard deviation with their standard errors, and the probabilistically symmetric coverage interval
        (JCGM 101, 7.6 and 7.7), whose errors are those of order statistics."""
        count = int(self.powers[0])
        if not count:
            return Sampled(NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, self.bad, (NAN, NAN), (NAN, NAN))
        mean, variance, fourth = central(self.powers)
        u = self.scale * math.sqrt(variance)
        spread = math.sqrt(max(fourth - variance * variance, 0.0) / count)
        u_error = self.scale * spread / (2 * math.sqrt(variance)) if variance else 0.0
        rank, inside = ranks(count, self.coverage)
        (low, low_error, low_band), (high, high_error, high_band) = (
            end.at_rank(r, count) for end, r in zip(self.ends, (rank, min(rank + inside, count)), strict=True))
        return Sampled(self.shift + self.scale * mean, u, low, high, u / math.sqrt(count), u_error, low_error, high_error,
                       self.bad, low_band, high_band)

    def shortest(self) -> tuple[float, float] | None:
        """The shortest interval that holds the coverage probability, where all values were kept (JCGM 101, 5.3.4 and 7.7.4)."""
        if self.every is None:
            return None
        values = np.sort(np.concatenate(self.every))
        if not len(values):
            return NAN, NAN
        _, inside = ranks(len(values), self.coverage)
        inside = min(inside, len(values) - 1)
        first = int(np.argmin(values[inside:] - values[:len(values) - inside]))
        return float(values[first]), float(values[first + inside])


def ranks(count: int, coverage: float) -> tuple[int, int]:
    """The rank of the lower end of the probabilistically symmetric interval, and how many ranks above it the upper one is
    (JCGM 101, 7.7.2 and 7.7.3)."""
    inside = int(coverage * count + 0.5)
    return max(1, (count - inside + 1) // 2), inside


def products(tallies: Sequence[SampleTally], outputs: np.ndarray) -> np.ndarray:
    """Sums over the samples that are finite in every output: how many, of the scaled outputs, and of their products."""
    good = outputs[:, np.isfinite(outputs).all(axis=0)]
    shift, scale = (np.array([[getattr(t, name)] for t in tallies]) for name in ("shift", "scale"))
    rows = np.vstack([np.ones((1, good.shape[1])), (good - shift) / scale])
    return rows @ rows.T


def correlated(sums: np.ndarray) -> np.ndarray:
    """The correlation matrix from sums of products; 0 where an output does not vary, NaN without a sample."""
    count = sums[0, 0]
    if not count:
        return np.full((len(sums) - 1, len(sums) - 1), NAN)
    means = sums[0, 1:] / count
    covariance = sums[1:, 1:] / count - np.outer(means, means)
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.outer(deviations, deviations)
    return np.clip(np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0), -1, 1)


def central(powers: np.ndarray) -> tuple[float, float, float]:
    """Mean, variance and fourth central moment from sums of powers."""
    count, first, second, third, fourth = map(float, powers)
    m, s2, s3, s4 = first / count, second / count, third / count, fourth / count
    about = s4 - 4 * m * s3 + 6 * m * m * s2 - 3 * m**4
    variance = max(s2 - m * m, 0.0) * count / (count - 1) if count > 1 else 0.0
    return m, variance, max(about, 0.0)


# ---------------------------------------------------------------- is the linear model good enough?

class ModelVerdict(NamedTuple):
    """How an interval compares with the one by Monte Carlo (JCGM 101, 8.1): the numerical tolerance, the differences of the two
    ends, and the verdict: agrees, differs, or unclear where there are too few samples to tell."""

    tolerance: float
    low: float
    high: float
    verdict: str


def tolerance(u: float) -> float:
    """Half a unit in the second significant digit of a standard uncertainty (JCGM 101, 7.9.2, with two digits)."""
    if not (u > 0 and math.isfinite(u)):
        return 0.0
    return 0.5 * 10.0 ** (int(f"{u:.1e}".partition("e")[2]) - 1)


def compared(low: float, high: float, u: float, sampled: Sampled, rounding: float = 0.0) -> ModelVerdict:
    """An interval for an output of standard uncertainty u against the sampled one: they differ where an end is farther than the
    tolerance from all of the band that the true end is in, and agree where both are within it from all of the band."""
    allowed = max(tolerance(u), rounding)
    off = abs(low - sampled.low), abs(high - sampled.high)
    ends = ((low, sampled.low_band), (high, sampled.high_band))
    if any(not max(first - x, x - last) <= allowed for x, (first, last) in ends):
        return ModelVerdict(allowed, *off, "differs")
    sure = all(max(x - first, last - x) <= allowed for x, (first, last) in ends)
    return ModelVerdict(allowed, *off, "agrees" if sure else "unclear")


def samples_wanted(samples: int, agreement: ModelVerdict, sampled: Sampled) -> int | None:
    """How many samples may tell, a power of ten: with them the bands are narrow beside half the tolerance, or beside the distance
    of the difference from the tolerance where that is known already. None where no number would."""
    wanted = []
    for d, (first, last) in ((agreement.low, sampled.low_band), (agreement.high, sampled.high_band)):
        half, allowed = (last - first) / 2, agreement.tolerance
        if not math.isfinite(half) or not allowed > 0:
            return max(10 * samples, 10**5) if allowed > 0 else None
        room = abs(allowed - d) if half < allowed / 2 else allowed / 2
        if room > 0 and half > 0:
            wanted.append(10 ** math.ceil(math.log10(samples * (half / room) ** 2)))
    return max(wanted, default=None)
