"""Lines 6 to 12 of Algorithm 1: relax the target, keep a prefix of the draft, replace what follows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
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
    drafted = min(len(p), draft.block_size - start)
    y = draft.tokens[start : start + drafted]
    passed = u[start : start + drafted] < _acceptance(draft, p, y, start, rule)  # u can be 0: an excluded token fails
    return (_end_on_device if p.is_cuda else _end_on_host)(draft, p, y, passed, start, rule, generator)


def _acceptance(draft: Draft, p: Tensor, y: Tensor, start: int, rule: AcceptanceRule) -> Tensor:
    """A(y) of the drafted tokens y [n] at positions start, start + 1, ..."""
    drafted = len(y)
    if not rule.pointwise:
        q = draft.law_rows(start, start + drafted, p.shape[-1])
        return rule.acceptance_of(p[:drafted], q, y, validate=False)
    p_y = p[:drafted].gather(1, y[:, None]).squeeze(1)
    q_y = draft.probabilities(start, start + drafted).to(p.dtype)
    if p.device.type != "cpu":
        return rule.acceptance_at(p_y, q_y)
    return torch.from_numpy(rule.acceptance_at(p_y.numpy(), q_y.numpy()))  # far less time on a few numbers than torch


def _end_on_host(
    draft: Draft, p: Tensor, y: Tensor, passed: Tensor, start: int, rule: AcceptanceRule, generator: torch.Generator
) -> tuple[int, int]:
    """Where the run of passed positions ends and what follows it; nothing is computed that is not drawn from."""
    failed = np.flatnonzero(~passed.cpu().numpy())
    accepted = int(failed[0]) if len(failed) else len(y)
    if accepted == len(p):
        return accepted, NOTHING  # the run goes on past these rows
    law = p[accepted]
    if accepted < len(y):
        q = draft.law_rows(start + accepted, start + accepted + 1, len(law))[0]
        law = rule.residual(law, q, y[accepted], validate=False)
    return accepted, int(draw(law, generator))


def _end_on_device(
    draft: Draft, p: Tensor, y: Tensor, passed: Tensor, start: int, rule: AcceptanceRule, generator: torch.Generator
) -> tuple[int, int]:
    """The same without asking the device where the run ends before the one read that ends the round."""
    accepted = torch.cat((~passed, passed.new_ones(1))).int().argmax()
    law = p[accepted.clamp(max=len(p) - 1)]
    if len(y):
        at = accepted.clamp(max=len(y) - 1)
        q = draft.law_rows(start, start + len(y), p.shape[-1])[at]
        residual = rule.residual(law, q, y[at], validate=False)
        law = torch.where(accepted < len(y), residual, law)
    count, value = torch.stack((accepted, draw(law, generator))).tolist()
    return count, value
