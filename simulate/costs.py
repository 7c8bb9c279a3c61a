"""Seconds of a round: drafting, verifying, and the host's own share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specfrontier.errors import InputError
from specfrontier.profile import Profile, VerifyCost
from specfrontier.simulate.grid import Effort

__all__ = ["Costs", "DraftCost", "FirstRound", "VerifySurface"]

FloatArray = NDArray[np.float64]

_FAR = 2.0**20


@dataclass(frozen=True)
class DraftCost:
    """c_d of one effort: `seconds` for `forwards` drafter forwards over `block_size` positions.

    Args:
        seconds: seconds of a draft at the mean number of forwards.
        forwards: that mean; a fixed K has exactly this many.
        block_size: block size of the measurement.
        per_forward: seconds that one forward more costs (a threshold's drafts differ in their number).
        per_position: seconds that one position more costs; 0 where it was not measured (``simulate.round_costs``).
    """

    seconds: float
    forwards: float
    block_size: int
    per_forward: float
    per_position: float = 0.0

    def __call__(self, block_size: ArrayLike, forwards: ArrayLike | None = None) -> FloatArray:
        """Seconds of a draft, never negative."""
        extra = 0.0 if forwards is None else (np.asarray(forwards, dtype=np.float64) - self.forwards) * self.per_forward
        shorter = (np.asarray(block_size, dtype=np.float64) - self.block_size) * self.per_position
        return np.maximum(self.seconds + extra + shorter, 0.0)


@dataclass(frozen=True)
class VerifySurface:
    """c_v as a function of block size and context, bilinear between measured nodes and constant beyond them.

    Args:
        block_sizes: ``[b]`` ascending.
        contexts: ``[c]`` ascending.
        seconds: ``[b, c]``.

    Raises:
        InputError: if nodes do not ascend.
    """

    block_sizes: FloatArray
    contexts: FloatArray
    seconds: FloatArray

    def __post_init__(self) -> None:
        for name in ("block_sizes", "contexts"):
            nodes = getattr(self, name)
            if not (np.diff(nodes) > 0).all():
                raise InputError(f"{name} of the verify surface are {nodes.tolist()}; give ascending ones, each once")

    def __call__(self, block_size: ArrayLike, context: ArrayLike) -> FloatArray:
        """Seconds of one verifier forward over `block_size` drafted tokens plus one, after `context` tokens."""
        i, u = _cell(self.block_sizes, block_size)
        j, v = _cell(self.contexts, context)
        ahead_i, ahead_j = np.minimum(i + 1, len(self.block_sizes) - 1), np.minimum(j + 1, len(self.contexts) - 1)
        near = (1 - v) * self.seconds[i, j] + v * self.seconds[i, ahead_j]
        far = (1 - v) * self.seconds[ahead_i, j] + v * self.seconds[ahead_i, ahead_j]
        return (1 - u) * near + u * far

    @classmethod
    def from_nodes(cls, nodes: tuple[VerifyCost, ...]) -> VerifySurface:
        """From measured nodes; those of a block size or context that is not complete are averaged over."""
        sizes = np.unique([n.block_size for n in nodes])
        contexts = np.unique([n.context for n in nodes])
        seconds = np.full((len(sizes), len(contexts)), np.nan)
        for node in nodes:
            seconds[np.searchsorted(sizes, node.block_size), np.searchsorted(contexts, node.context)] = (
                node.seconds.value
            )
        if np.isnan(seconds).any():  # a ragged grid: keep what varies with block size, which matters most
            return cls(sizes.astype(float), np.zeros(1), np.nanmean(seconds, axis=1, keepdims=True))
        return cls(sizes.astype(float), contexts.astype(float), seconds)

    @classmethod
    def constant(cls, seconds: float) -> VerifySurface:
        """The paper's c_v."""
        return cls(np.zeros(1), np.zeros(1), np.array([[seconds]]))


@dataclass(frozen=True)
class FirstRound:
    """A generation's first round against later ones: factors on its draft and on its verification.

    It drafts after the shortest prefix, and verifies with whatever the prefill left in the caches.
    """

    draft: float = 1.0
    verify: float = 1.0


@dataclass(frozen=True)
class Costs:
    """What a pair costs on a machine, in seconds.

    Args:
        draft: c_d by effort.
        verify: c_v by block size and context.
        host_s: a round's seconds outside the models' forwards.
        prefill_s: the verifier's prefill of a mean prompt.
        autoregressive_s: one token of the verifier alone.
        constant_verify_s: the one c_v of Equation 7.
        first: what the first round of a generation costs against later ones.
    """

    draft: Mapping[Effort, DraftCost]
    verify: VerifySurface
    host_s: float
    prefill_s: float
    autoregressive_s: float
    constant_verify_s: float
    first: FirstRound = FirstRound()

    @classmethod
    def from_profile(cls, profile: Profile) -> Costs:
        """Everything that the profile measured, at the finest grain that it has."""
        return cls(
            draft={Effort.of(e.steps, e.threshold): _draft_cost(profile, i) for i, e in enumerate(profile.efforts)},
            verify=_surface(profile),
            host_s=profile.host_s.value,
            prefill_s=profile.prefill_s.value,
            autoregressive_s=profile.autoregressive_s.value,
            constant_verify_s=profile.verify_cost.value,
        )

    def draft_of(self, effort: Effort) -> DraftCost:
        """c_d of one effort; InputError naming the profiled ones if it is not among them."""
        try:
            return self.draft[effort]
        except KeyError:
            known = ", ".join(e.label for e in self.draft)
            raise InputError(f"{effort.label} was not profiled; profiled efforts: {known}") from None

    def round_s(
        self,
        effort: Effort,
        requested: ArrayLike,
        verified: ArrayLike,
        context: ArrayLike,
        forwards: ArrayLike | None = None,
        first: ArrayLike = False,
    ) -> FloatArray:
        """Seconds of rounds that ask for `requested` positions and verify `verified` of them.

        `first` says which of them are the first of a generation.
        """
        draft = self.draft_of(effort)(requested, forwards) * np.where(first, self.first.draft, 1.0)
        return draft + self.verify(verified, context) * np.where(first, self.first.verify, 1.0) + self.host_s


def _draft_cost(profile: Profile, index: int) -> DraftCost:
    """A further forward costs the slope of c_d(K) where that was fitted, else a mean forward."""
    effort = profile.efforts[index]
    line = profile.draft_cost
    mean_forward = effort.draft_s.value / effort.forwards if effort.forwards > 0 else 0.0
    slope = line.slope.value if line is not None else mean_forward
    return DraftCost(effort.draft_s.value, effort.forwards, profile.block_size, max(slope, 0.0))


def _surface(profile: Profile) -> VerifySurface:
    if len(profile.verify_costs) > 1:
        return VerifySurface.from_nodes(profile.verify_costs)
    line = profile.verify_cost_fit
    if line is None:
        return VerifySurface.constant(profile.verify_cost.value)
    sizes = np.array([0.0, _FAR])  # two nodes far apart: the line itself
    return VerifySurface(sizes, np.zeros(1), np.array([[line.at(size + 1)] for size in sizes]))


def _cell(nodes: FloatArray, at: ArrayLike) -> tuple[NDArray[np.int64], FloatArray]:
    """Index of the node below each value and the fraction of the way to the next, held at both ends."""
    value = np.clip(np.asarray(at, dtype=np.float64), nodes[0], nodes[-1])
    below = np.clip(np.searchsorted(nodes, value, side="right") - 1, 0, max(len(nodes) - 2, 0))
    if len(nodes) == 1:
        return below, np.zeros_like(value)
    return below, (value - nodes[below]) / (nodes[below + 1] - nodes[below])
