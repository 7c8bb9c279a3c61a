"""The level of costs from recorded rounds: what drafts, verifications and host work took where they really run.

A forward timed in a loop of its own finds its weights in cache and nothing else going on, and a median leaves out the
pauses that a sum over rounds pays for. So the profile gives costs their shape (context, further forwards), and recorded
rounds their level: summed over the recording, predicted seconds are the measured ones. What a draft costs a position
cannot be known from a profile, which is made at one block size; rounds recorded at several tell it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.costs import Costs, DraftCost, FirstRound, VerifySurface
from specfrontier.simulate.grid import Effort
from specfrontier.simulate.traces import Recorded, Traces

__all__ = ["level_costs", "seconds_per_position"]


def level_costs(costs: Costs, recorded: Recorded) -> Costs:
    """`costs` scaled to the seconds of `recorded`: each effort's drafts, all verifications, and host time.

    First rounds of generations and later ones are levelled apart.

    Rounds of one effort at several block sizes give drafts a cost a position, c_d = a + b K + c K B: K forwards over B
    positions each. The constant c_v of Equation 7 becomes the mean over rounds of whole blocks. Efforts without rounds
    keep their level.
    """
    everything = list(recorded.traces.values())
    per_position = seconds_per_position(everything)
    drafts = {e: replace(cost, per_position=per_position * cost.forwards) for e, cost in costs.draft.items()}
    for effort in recorded.efforts():
        if effort in drafts:
            own = [traces for traces in everything if traces.point.effort == effort]
            drafts[effort] = _scaled(drafts[effort], _draft_ratio(drafts[effort], own, first=False))
    level = _verify_ratio(costs.verify, everything, first=False)
    verify = replace(costs.verify, seconds=costs.verify.seconds * level)
    return replace(
        costs,
        draft=drafts,
        verify=verify,
        host_s=float(np.concatenate([t.accept_s for t in everything]).mean()),
        constant_verify_s=float(
            np.concatenate([t.verify_s[t.requested == t.requested.max()] for t in everything]).mean()
        ),
        first=FirstRound(_first_draft(drafts, everything), _verify_ratio(verify, everything, first=True)),
    )


def seconds_per_position(traces: Iterable[Traces]) -> float:
    """What one position more costs each drafter forward: the median slope between recordings of one effort.

    A recording's draft is the median over its whole blocks; only recordings with equally many forwards are compared,
    as more of them is another effect. 0 if no effort was recorded at two block sizes; never negative.
    """
    slopes = []
    for one, other in combinations(traces, 2):
        positions = int(other.requested.max()) - int(one.requested.max())
        forwards = float(one.forwards.mean())
        if positions and one.point.effort == other.point.effort and forwards == float(other.forwards.mean()):
            slopes.append((_whole_draft_s(other) - _whole_draft_s(one)) / (positions * forwards))
    return max(float(np.median(slopes)), 0.0) if slopes else 0.0


def _whole_draft_s(traces: Traces) -> float:
    return float(np.median(traces.draft_s[traces.requested == traces.requested.max()]))


def _draft_ratio(cost: DraftCost, traces: Iterable[Traces], *, first: bool) -> float:
    """Recorded over modelled seconds of the drafts of first or of later rounds."""
    return _ratio(
        (t.draft_s[chosen].sum(), cost(t.requested[chosen], t.forwards[chosen]).sum())
        for t in traces
        for chosen in [_which(t, first)]
    )


def _first_draft(drafts: Mapping[Effort, DraftCost], traces: Iterable[Traces]) -> float:
    """Recorded over modelled seconds of first drafts, all efforts together."""
    return _ratio(
        (t.draft_s[chosen].sum(), drafts[t.point.effort](t.requested[chosen], t.forwards[chosen]).sum())
        for t in traces
        if t.point.effort in drafts
        for chosen in [_which(t, first=True)]
    )


def _verify_ratio(surface: VerifySurface, traces: Iterable[Traces], *, first: bool) -> float:
    """Recorded over modelled seconds of the verifications of first or of later rounds."""
    return _ratio(
        (t.verify_s[chosen].sum(), surface(t.length[chosen], t.context[chosen]).sum())
        for t in traces
        for chosen in [_which(t, first)]
    )


def _which(traces: Traces, first: bool) -> NDArray[np.bool_]:
    return (traces.start == 0) == first


def _ratio(pairs: Iterable[tuple[float, float]]) -> float:
    """Recorded over modelled seconds; 1 where either has none."""
    recorded, modelled = np.sum([*pairs, (0.0, 0.0)], axis=0)
    return float(recorded / modelled) if modelled > 0 and recorded > 0 else 1.0


def _scaled(cost: DraftCost, ratio: float) -> DraftCost:
    return replace(
        cost,
        seconds=cost.seconds * ratio,
        per_forward=cost.per_forward * ratio,
        per_position=cost.per_position * ratio,
    )
