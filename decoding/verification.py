"""Lines 6 to 12 of Algorithm 1: relax the target, keep a prefix of the draft, replace what follows it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft
from specfrontier.decoding.sampling import Sampling, draw
from specfrontier.theory.rules import AcceptanceRule, Leniency, as_schedule

FIRST_CHUNK = 2
NOTHING = -1


@dataclass(frozen=True)
class Verdict:
    """What became of a block: `accepted` drafted tokens are kept, and `token` follows them.

    `token` is the correction if a token was rejected, and the bonus token, from p, if none was.
    """

    accepted: int
    token: int


def verify(draft: Draft, logits: Tensor, sampling: Sampling, leniency: Leniency, generator: torch.Generator) -> Verdict:
    """Accept a prefix of `draft` against the verifier's `logits` [B + 1, V].

    Only rows that decide something are turned into laws: a chunk at a time on a CPU, where chunks grow, and all
    at once on a GPU, where one read of (accepted, token) is the round's only synchronisation (with a schedule,
    one for each run of equal rules that is reached). Row B + 1 is read only if everything before it was
    accepted, and the residual is built for a single row.
    """
    size, schedule = draft.block_size, as_schedule(leniency)
    u = torch.rand(size, generator=generator, device=logits.device)
    start, chunk = 0, size + 1 if logits.is_cuda else FIRST_CHUNK
    while True:
        stop = min(start + chunk, size + 1, schedule.run_end(start) or size + 1)
        p = sampling.law(logits[start:stop])
        accepted, token = _verify_rows(draft, p, u, start, schedule.rule_at(start), generator)
        if accepted < stop - start or stop == size + 1:
            return Verdict(start + accepted, token)
        start, chunk = stop, 2 * chunk


def _verify_rows(
    draft: Draft, p: Tensor, u: Tensor, start: int, rule: AcceptanceRule, generator: torch.Generator
) -> tuple[int, int]:
    """Verify positions start, start + 1, ... against p [n, V]; a row past the block is the bonus token's.

    Returns how many of the rows' drafted tokens were accepted in a run, and the token that follows that run if
    it ends within these rows.
    """
    rows, vocab_size = p.shape
    drafted = min(rows, draft.block_size - start)
    y = draft.tokens[start : start + drafted]
    if rule.pointwise:
        p_y = p[:drafted].gather(1, y[:, None]).squeeze(1)
        keep = rule.acceptance_at(p_y, draft.probabilities(start, start + drafted).to(p.dtype))
    else:
        q = draft.law_rows(start, start + drafted, vocab_size)
        keep = rule.acceptance_of(p[:drafted], q, y, validate=False)
    rejected = ~(u[start : start + drafted] < keep)  # u can be 0: a token that p excludes must not pass
    ends = torch.cat((rejected, rejected.new_ones(1)))
    accepted = ends.int().argmax()
    if not p.is_cuda and int(accepted) == rows:
        return rows, NOTHING  # the run goes on past these rows
    law = p[accepted.clamp(max=rows - 1)]
    if drafted:
        at = accepted.clamp(max=drafted - 1)
        q_row = draft.law_rows(start, start + drafted, vocab_size)[at] if draft.laws is None else draft.laws[start + at]
        residual = rule.residual(law, q_row, y[at], validate=False)
        law = torch.where(accepted < drafted, residual, law)
    token = draw(law, generator)
    count, value = torch.stack((accepted, token)).tolist()
    return count, value
