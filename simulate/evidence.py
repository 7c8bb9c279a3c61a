"""What a predictor may look at: the profile, its costs, the recorded rounds, and one bootstrap for all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from specfrontier.errors import InputError
from specfrontier.profile import EffortProfile, Estimate, Profile
from specfrontier.simulate.costs import Costs
from specfrontier.simulate.grid import Effort, Point
from specfrontier.simulate.round_costs import level_costs
from specfrontier.simulate.traces import Recorded, Traces

__all__ = ["Bootstrap", "Evidence"]

FloatArray = NDArray[np.float64]
_Z95 = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Bootstrap:
    """Prompts drawn with replacement, once for all configurations, so that what they share cancels.

    Args:
        replicates: R >= 0.
        seed: of the draws.
    """

    replicates: int = 400
    seed: int = 0

    def weights(self, problems: NDArray[np.object_]) -> FloatArray:
        """``[1 + R, G]``: how often each generation counts; all ones in the first row.

        Generations of one problem stay together, and a problem has the same draws in every configuration that
        holds the same set of problems.
        """
        names, index = np.unique(problems.astype(str), return_inverse=True)
        generator = np.random.default_rng(self.seed)
        counts = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=self.replicates)
        return np.concatenate([np.ones((1, len(names))), counts.astype(np.float64)])[:, index]

    def normal(self, estimate: Estimate, stream: int) -> FloatArray:
        """``[1 + R]``: the value, then draws from a normal law with the estimate's 95 % interval."""
        generator = np.random.default_rng([self.seed, stream])
        spread = (estimate.high - estimate.low) / (2 * _Z95)
        draws = estimate.value + spread * generator.standard_normal(self.replicates)
        return np.concatenate([[estimate.value], draws])


@dataclass(frozen=True)
class Evidence:
    """Everything that predictors are fitted on.

    Args:
        profile: the pair's profile.
        costs: its costs, or those of a what-if.
        recorded: traced rounds; None if only the profile is at hand.
        bootstrap: how intervals are drawn.
        leveled_on: configurations whose recorded seconds the costs rest on; none for those of a what-if.
    """

    profile: Profile
    costs: Costs
    recorded: Recorded | None = None
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    leveled_on: frozenset[Point] = frozenset()

    @classmethod
    def from_tables(
        cls,
        profile: Profile,
        rounds: pd.DataFrame | None = None,
        configurations: pd.DataFrame | None = None,
        *,
        costs: Costs | None = None,
        bootstrap: Bootstrap | None = None,
    ) -> Evidence:
        """From the tables of ``specfrontier.schema``; rounds need the configurations that they belong to.

        Without costs of a what-if, the profile's are brought to the level of the recorded rounds.
        """
        if rounds is not None and configurations is None:
            raise InputError("rounds came without the configurations table that names their settings; give both")
        recorded = None if rounds is None or configurations is None else Recorded.from_tables(rounds, configurations)
        leveled_on: frozenset[Point] = frozenset()
        if costs is None:
            costs = Costs.from_profile(profile)
            if recorded is not None:
                costs = level_costs(costs, recorded)
                leveled_on = frozenset(traces.point for traces in recorded.traces.values())
        bootstrap = bootstrap or Bootstrap()
        if _fewest_problems(profile, recorded) < 2:  # one problem alone says nothing of its spread
            bootstrap = replace(bootstrap, replicates=0)
        return cls(profile, costs, recorded, bootstrap, leveled_on)

    def effort(self, effort: Effort) -> tuple[int, EffortProfile]:
        """Index and profile of an effort; InputError naming the profiled ones if it is not among them."""
        for index, entry in enumerate(self.profile.efforts):
            if Effort.of(entry.steps, entry.threshold) == effort:
                return index, entry
        known = ", ".join(Effort.of(e.steps, e.threshold).label for e in self.profile.efforts)
        raise InputError(f"{effort.label} was not profiled; profiled efforts: {known}")

    def rounds_for(self, predictor: str) -> Recorded:
        """The recorded rounds; InputError naming the predictor that needs them if there are none."""
        if self.recorded is None:
            raise InputError(f"predictor {predictor} reads recorded rounds; give the rounds and configurations tables")
        return self.recorded

    def weights(self, traces: Traces) -> FloatArray:
        """``[1 + R, G]`` bootstrap weights of the traces' generations."""
        return self.bootstrap.weights(traces.problems)


def _fewest_problems(profile: Profile, recorded: Recorded | None) -> int:
    counts = [effort.d_visited.n for effort in profile.efforts]
    if recorded is not None:
        counts += [len(set(traces.problems)) for traces in recorded.traces.values()]
    return min(counts, default=0)
