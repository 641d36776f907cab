"""Propagation of distributions by Monte Carlo, with the native code of the program itself (JCGM 101:2008, Evaluation of
measurement data: Supplement 1 to the GUM: Propagation of distributions using a Monte Carlo method).

Samples are drawn and computed in blocks, each with a random stream of its own, so that any number of them takes the same memory
and the figures do not depend on the number of threads. The ends of coverage intervals are exact order statistics of all
samples: the first blocks bound each end so closely that of the others only a few values have to be kept (the idea of selection by
sampling: Floyd and Rivest, Expected time bounds for selection, 1975).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from adcli.codegen.machine.arrays import run_arrays
from adcli.codegen.machine.kernel import Kernel, processors
from adcli.lang.derive.uncertainty_figures import Factor

HELD = 1 << 22
"""Doubles of one block, inputs and outputs together."""
BLOCK_SAMPLES = 1 << 16
"""Samples of one block at most."""
KEPT_DOUBLES = 1 << 23
"""Doubles that are kept around the ends of all outputs together, before the bounds of the ends are drawn closer."""
DEVIATIONS = 10.0
"""How many standard deviations the bounds of an end lie from where it is expected; beyond them with probability 1e-23."""
NAN = math.nan
SURE = 3.0
"""Standard errors that a difference must exceed before anything is concluded from it."""


class Experiment(NamedTuple):
    """Normally distributed inputs of a program: its `kernel` (outputs, then the status), the value of every input in order, the
    standard uncertainties of some, by place, and the Cholesky factor of their correlations."""

    kernel: Kernel
    values: Sequence[float]
    spreads: Mapping[int, float]
    factor: Factor

    @property
    def rows(self) -> int:
        """Samples of a block."""
        held = len(self.values) + len(self.spreads) + self.kernel.entry.outputs
        return max(256, min(BLOCK_SAMPLES, HELD // held))


@dataclass(frozen=True)
class Sampled:
    """What the samples of one output say, with the standard error of each figure; `bad` of them are NaN or infinite and
    count for nothing else."""

    mean: float
    u: float
    low: float
    high: float
    mean_error: float
    u_error: float
    low_error: float
    high_error: float
    bad: int

    @property
    def figures(self) -> dict[str, tuple[float, float]]:
        """Figures with their standard errors."""
        return {"mean": (self.mean, self.mean_error), "u": (self.u, self.u_error), "low": (self.low, self.low_error),
                "high": (self.high, self.high_error)}


def sample(experiment: Experiment, samples: int, seed: int, coverage: float, jobs: int | None,
           progress: Callable[[int], None]) -> tuple[list[Sampled], np.ndarray]:
    """The figures of every output from so many samples, and the matrix of their correlations; `progress` hears how many
    are done."""
    size = experiment.rows
    blocks = ((i, min(size, samples - at)) for i, at in enumerate(range(0, samples, size)))
    first = drawn(experiment, seed, (0, min(size, samples)))
    tallies = [SampleTally(column, coverage, KEPT_DOUBLES // len(first)) for column in first]

    def reduced(block: tuple[int, int]) -> tuple[list[Block], np.ndarray]:
        outputs = drawn(experiment, seed, block)
        return [t.reduced(c) for t, c in zip(tallies, outputs, strict=True)], products(tallies, outputs)

    done, threads = 0, jobs or processors()
    together = np.zeros((len(first) + 1, len(first) + 1))
    with ThreadPoolExecutor(threads) as pool:
        while group := list(islice(blocks, 4 * threads)):
            for found, more in pool.map(reduced, group):
                together += more
                for tally, block in zip(tallies, found, strict=True):
                    tally.take(block)
            for tally in tallies:
                tally.tighten()
            done += sum(count for _, count in group)
            progress(done)
    return [tally.figures() for tally in tallies], correlated(together)


def drawn(experiment: Experiment, seed: int, block: tuple[int, int]) -> np.ndarray:
    """The outputs for the samples of a block, one row an output. Its random stream depends on the seed and its number."""
    number, size = block
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,))))
    normal = random.standard_normal((len(experiment.spreads), size))
    columns = [np.full(size, x) if i not in experiment.spreads else np.empty(0) for i, x in enumerate(experiment.values)]
    for (i, u), row in zip(experiment.spreads.items(), experiment.factor, strict=True):
        columns[i] = experiment.values[i] + u * combined(normal, row, size)
    results = run_arrays(experiment.kernel, columns, size)
    return np.array(results[:-1]).reshape(len(results) - 1, size)


def combined(normal: np.ndarray, row: Mapping[int, float], size: int) -> np.ndarray:
    """One row of the Cholesky factor times independent standard normal samples."""
    whole = np.zeros(size)
    for k, weight in row.items():
        whole += normal[k] if weight == 1 else weight * normal[k]
    return whole


# ---------------------------------------------------------------- figures from blocks

class Block(NamedTuple):
    """What is kept of a block: how many samples are bad, the sums of the powers 0 to 4, and what lies around the two ends."""

    bad: int
    powers: np.ndarray
    ends: tuple[Around, Around]


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

    def at_rank(self, rank: int, count: int) -> tuple[float, float]:
        """The order statistic of this rank, from 1, of `count` samples, and its standard error: half the distance of those that
        lie one standard deviation of the rank to either side."""
        values = np.sort(np.concatenate(self.between))

        def value(r: int) -> float:
            place = min(max(r, 1), count) - self.below - self.on_low - 1
            return self.low if place < 0 else self.high if place >= len(values) else float(values[place])

        reach = max(1, math.ceil(math.sqrt(rank * (count - rank) / count)))
        return value(rank), (value(rank + reach) - value(rank - reach)) / 2


class SampleTally:
    """The samples of one output, so far: sums of powers, and both ends.

    Powers are those of (v − shift)/scale, taken from the `first` samples, so that sums neither cancel nor overflow. `most`
    values are kept around the ends.
    """

    def __init__(self, first: np.ndarray, coverage: float, most: int) -> None:
        finite = np.sort(first[np.isfinite(first)])
        self.shift = float(finite[len(finite) // 2]) if len(finite) else 0.0
        self.scale = float(finite[-1] / 2 - finite[0] / 2) if len(finite) else 0.0
        self.scale = self.scale or 1.0
        self.bad, self.powers, self.coverage = 0, np.zeros(5), coverage
        self.ends = tuple(SampledEnd(p, max(most // 2, 1 << 12)) for p in ((1 - coverage) / 2, (1 + coverage) / 2))

    def reduced(self, column: np.ndarray) -> Block:
        """What is kept of these samples."""
        good = column[np.isfinite(column)]
        d = (good - self.shift) / self.scale
        squares = d * d
        powers = np.array([len(good), d.sum(), squares.sum(), (squares * d).sum(), (squares * squares).sum()])
        low, high = (end.around(good) for end in self.ends)
        return Block(len(column) - len(good), powers, (low, high))

    def take(self, block: Block) -> None:
        self.bad += block.bad
        self.powers += block.powers
        for end, found in zip(self.ends, block.ends, strict=True):
            end.take(found)

    def tighten(self) -> None:
        for end in self.ends:
            end.tighten(int(self.powers[0]))

    def figures(self) -> Sampled:
        """Mean and standard deviation with their standard errors, and the probabilistically symmetric coverage interval
        (JCGM 101, 7.6 and 7.7), whose errors are those of order statistics."""
        count = int(self.powers[0])
        if not count:
            return Sampled(NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, self.bad)
        mean, variance, fourth = central(self.powers)
        u = self.scale * math.sqrt(variance)
        spread = math.sqrt(max(fourth - variance * variance, 0.0) / count)
        u_error = self.scale * spread / (2 * math.sqrt(variance)) if variance else 0.0
        inside = int(self.coverage * count + 0.5)
        rank = max(1, (count - inside + 1) // 2)
        (low, low_error), (high, high_error) = (
            end.at_rank(r, count) for end, r in zip(self.ends, (rank, min(rank + inside, count)), strict=True))
        return Sampled(self.shift + self.scale * mean, u, low, high, u / math.sqrt(count), u_error, low_error, high_error,
                       self.bad)


def products(tallies: Sequence[SampleTally], outputs: np.ndarray) -> np.ndarray:
    """Sums over the samples that are finite in every output: how many, of the scaled outputs, and of their products."""
    good = outputs[:, np.isfinite(outputs).all(axis=0)]
    shift, scale = (np.array([[getattr(t, name)] for t in tallies]) for name in ("shift", "scale"))
    rows = np.vstack([np.ones((1, good.shape[1])), (good - shift) / scale])
    return rows @ rows.T


def correlated(sums: np.ndarray) -> np.ndarray:
    """The correlation matrix from sums of products; 0 where an output does not vary."""
    count = max(sums[0, 0], 1.0)
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


def compared(low: float, high: float, u: float, sampled: Sampled) -> ModelVerdict:
    """An interval for an output of standard uncertainty u against the sampled one."""
    allowed = tolerance(u)
    ends = [(abs(low - sampled.low), sampled.low_error), (abs(high - sampled.high), sampled.high_error)]
    if any(not d - SURE * e <= allowed for d, e in ends):
        verdict = "differs"
    else:
        verdict = "agrees" if all(d + SURE * e <= allowed for d, e in ends) else "unclear"
    return ModelVerdict(allowed, ends[0][0], ends[1][0], verdict)


def samples_wanted(samples: int, agreement: ModelVerdict, sampled: Sampled) -> Iterator[int]:
    """How many samples may tell, a power of ten for each end: with them its standard error is small beside half the tolerance,
    or beside the distance of the difference from the tolerance where that is known already."""
    allowed = agreement.tolerance
    for d, e in ((agreement.low, sampled.low_error), (agreement.high, sampled.high_error)):
        room = abs(allowed - d) if SURE * e < allowed / 2 else allowed / 2
        if room > 0 and e > 0:
            yield 10 ** math.ceil(math.log10(samples * (SURE * e / room) ** 2))
