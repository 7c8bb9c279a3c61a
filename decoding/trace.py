"""Compare the laws of a round position by position, after its clock has stopped."""

from __future__ import annotations

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft
from specfrontier.decoding.records import PositionTrace
from specfrontier.decoding.sampling import Sampling
from specfrontier.theory.divergences import kl_divergence, tv_distance
from specfrontier.theory.rules import Leniency, as_schedule

ROWS_AT_ONCE = 64


def trace_positions(draft: Draft, logits: Tensor, sampling: Sampling, leniency: Leniency) -> PositionTrace:
    """Trace every position of `draft` against the verifier's `logits` [>= B, V]; memory O(min(B, 64) V)."""
    columns: list[list[Tensor]] = [[] for _ in range(6)]
    schedule = as_schedule(leniency)
    start = stop = 0
    while (start := stop) < draft.block_size:
        stop = min(start + ROWS_AT_ONCE, draft.block_size, schedule.run_end(start) or draft.block_size)
        rule = schedule.rule_at(start)
        p = sampling.law(logits[start:stop])
        q = draft.law_rows(start, stop, p.shape[-1]).to(p)
        y = draft.tokens[start:stop, None]
        law = rule.output_law(p, q, validate=False)
        rows = (
            tv_distance(p, q, validate=False),
            p.gather(1, y).squeeze(1),
            q.gather(1, y).squeeze(1),
            rule.acceptance_rate(p, q, validate=False),
            tv_distance(law, p, validate=False),
            kl_divergence(law, p, validate=False),
        )
        for column, row in zip(columns, rows, strict=True):
            column.append(row)
    tv, p_y, q_y, acceptance, deviation, kl = (tuple(torch.cat(c).tolist()) if c else () for c in columns)
    return PositionTrace(tv, p_y, q_y, acceptance, deviation, kl, tuple(draft.steps.tolist()))
