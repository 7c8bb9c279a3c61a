"""The laws that verification really met: p and q at every visited position of some generations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from specfrontier.decoding.drafters.base import Draft, check_count
from specfrontier.decoding.engine import Engine, Settings
from specfrontier.decoding.pair import Pair
from specfrontier.decoding.records import Round
from specfrontier.errors import InputError


@dataclass(frozen=True)
class VisitedLaws:
    """Laws at N visited positions.

    Attributes:
        p: verifier's, [N, V] float32.
        q: drafter's, [N, V] float32.
        position: 1, 2, ... of each within its block, [N].
        prompt: index of the prompt that each came from, [N].
    """

    p: Tensor
    q: Tensor
    position: Tensor
    prompt: Tensor


@dataclass(frozen=True)
class _Recorder(Engine):
    """An engine that keeps the rows of every round's visited positions."""

    rows: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def _record(self, *arguments: Any) -> Round:
        _, _, _, _, block, _, _, _, logits, _ = arguments
        record = super()._record(*arguments)
        self._keep(block, logits, min(record.accepted + 1, record.verified))
        return record

    def _keep(self, block: Draft, logits: Tensor, visited: int) -> None:
        p = self.verifier_sampling.law(logits[:visited]).float().cpu()
        self.rows.append((p, block.law_rows(0, visited, p.shape[-1]).float().cpu()))


def visited_laws(
    pair: Pair, prompts: Sequence[str], settings: Settings, *, seeds: Sequence[int] | None = None, most: int = 1000
) -> VisitedLaws:
    """Generate from `prompts` and keep the laws of visited positions.

    Args:
        pair: with laws of V entries; memory is 8 V bytes a position.
        prompts: text.
        settings: of every generation.
        seeds: one a prompt; the settings' seed plus the prompt's index if None.
        most: positions at most; prompts beyond it are not begun.

    Raises:
        InputError: if nothing was visited.
    """
    check_count("positions", most)
    engine = pair.engine
    found: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []
    total = 0
    chosen = range(settings.seed, settings.seed + len(prompts)) if seeds is None else seeds
    for index, (prompt, seed) in enumerate(zip(prompts, chosen, strict=True)):
        recorder = _Recorder(
            engine.verifier, engine.verifier_sampling, engine.drafter, engine.vocab_size, engine.end_ids
        )
        ids = pair.encode(prompt)
        pair.check_length(len(ids), settings.max_new_tokens)
        with torch.inference_mode():
            recorder.generate(ids, replace(settings, seed=seed))
        for p, q in recorder.rows:
            found.append((p, q, torch.arange(1, len(p) + 1), torch.full((len(p),), index)))
            total += len(p)
        if total >= most:
            break
    if not total:
        raise InputError("no position was visited; give prompts, and a token limit above 1")
    p, q, position, of = (torch.cat(column)[:most] for column in zip(*found, strict=True))
    return VisitedLaws(p, q, position, of)
