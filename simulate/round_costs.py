"""The level of costs from recorded rounds: what drafts, verifications and host work took where they really run.

A forward timed in a loop of its own finds its weights in cache and nothing else going on, and a median leaves out the
pauses that a sum over rounds pays for. So the profile gives costs their shape (context, further forwards), and recorded
rounds their level: summed over the recording, predicted seconds are the measured ones. What a draft costs a position
cannot be known from a profile, which is made at one block size; rounds recorded at several tell it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import numpy as np

from specfrontier.simulate.costs import Costs, DraftCost, VerifySurface
from specfrontier.simulate.traces import Recorded, Traces

__all__ = ["level_costs", "seconds_per_position"]


def level_costs(costs: Costs, recorded: Recorded) -> Costs:
    """`costs` scaled to the seconds of `recorded`: each effort's drafts, all verifications, and host time.

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
            drafts[effort] = _scaled(drafts[effort], _draft_ratio(drafts[effort], own))
    verify_s = sum(float(t.verify_s.sum()) for t in everything)
    modelled = sum(float(costs.verify(t.length, t.context).sum()) for t in everything)
    ratio = verify_s / modelled if modelled > 0 and verify_s > 0 else 1.0
    return replace(
        costs,
        draft=drafts,
        verify=VerifySurface(costs.verify.block_sizes, costs.verify.contexts, costs.verify.seconds * ratio),
        host_s=float(np.concatenate([t.accept_s for t in everything]).mean()),
        constant_verify_s=float(
            np.concatenate([t.verify_s[t.requested == t.requested.max()] for t in everything]).mean()
        ),
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


def _draft_ratio(cost: DraftCost, traces: Iterable[Traces]) -> float:
    """Recorded over modelled seconds of drafts."""
    pairs = [(float(t.draft_s.sum()), float(cost(t.requested, t.forwards).sum())) for t in traces]
    recorded, modelled = (sum(column) for column in zip(*pairs, strict=True))
    return recorded / modelled if modelled > 0 and recorded > 0 else 1.0


def _scaled(cost: DraftCost, ratio: float) -> DraftCost:
    return replace(
        cost,
        seconds=cost.seconds * ratio,
        per_forward=cost.per_forward * ratio,
        per_position=cost.per_position * ratio,
    )
