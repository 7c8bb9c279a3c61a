"""A drafter and a verifier given by random tables, and an enumerator that walks every draw of the real engine."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch import Tensor

from specfrontier.decoding import engine, verification
from specfrontier.decoding.causal import CausalModel
from specfrontier.decoding.drafters import masked
from specfrontier.decoding.drafters.base import Effort
from specfrontier.decoding.drafters.masked import CanvasNetwork, MaskedDrafter, Unmasking
from specfrontier.decoding.engine import Engine, Settings
from specfrontier.decoding.sampling import Sampling
from specfrontier.theory.rules import AcceptanceRule

V = 3
MASK = V
END = 99
PROMPT = torch.tensor([0])


class Tables:
    """Random laws over V tokens, one for each key; the same key always gives the same law."""

    def __init__(self, seed: int, sharpness: float = 1.0) -> None:
        self.rng = np.random.default_rng(seed)
        self.sharpness = sharpness
        self.laws: dict[tuple[int, ...], Tensor] = {}

    def logits(self, key: tuple[int, ...]) -> Tensor:
        if key not in self.laws:
            self.laws[key] = torch.tensor(np.log(self.rng.dirichlet(np.full(V, self.sharpness)))).float()
        return self.laws[key]


class TableVerifier:
    """p(next | all tokens so far), read from a table; the interface of `CausalModel`."""

    device = torch.device("cpu")
    feature_layers = ()

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def session(self) -> TableSession:
        return TableSession(self.tables)


class TableSession:
    features = None

    def __init__(self, tables: Tables) -> None:
        self.tables, self.fed = tables, []

    def forward(self, tokens: Tensor, rows: int | None = None) -> Tensor:
        out = []
        for token in tokens.tolist():
            self.fed.append(token)
            out.append(self.tables.logits(tuple(self.fed)))
        return torch.stack(out[-(rows or len(out)) :])

    def rollback(self, count: int) -> None:
        self.fed = self.fed[: len(self.fed) - count]


def table_network(tables: Tables) -> CanvasNetwork:
    """A denoiser: the law of each position depends on prefix, canvas and position."""

    def network(ids: Tensor, *, rows: slice) -> Tensor:
        key = tuple(ids[0].tolist())
        every = [torch.cat((tables.logits((*key, 1000 + i)), torch.tensor([0.0]))) for i in range(len(key))]
        return torch.stack(every)[None, rows]

    return network


@contextmanager
def fixed_order(order: tuple[int, ...]) -> Iterator[None]:
    """Unmask positions in `order` (0-based), one a step, whatever their laws, under the name `entropy`."""

    def score(law: Tensor, generator: torch.Generator) -> Tensor:
        left = len(law)
        rank = {position: i for i, position in enumerate(order)}
        # Positions beyond a shorter last block are dropped from the order.
        alive = [p for p in sorted(order) if p not in score.done and p < score.size]  # type: ignore[attr-defined]
        if len(alive) != left:
            raise AssertionError("the order is out of step with the canvas")
        chosen = min(alive, key=lambda p: rank[p])
        score.done.add(chosen)  # type: ignore[attr-defined]
        return torch.tensor([1.0 if p == chosen else 0.0 for p in alive])

    original = masked.fill_canvas

    def fill(logits_of: object, canvas: Tensor, *rest: object) -> object:
        score.done, score.size = set(), len(canvas)  # type: ignore[attr-defined]
        return original(logits_of, canvas, *rest)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(masked.SCORES, "entropy", score)
        patch.setattr(masked, "fill_canvas", fill)
        yield


def toy_engine(seed: int, sharpness: float = 1.0) -> Engine:
    """A masked drafter and a verifier with unrelated random tables."""
    drafter = MaskedDrafter(
        table_network(Tables(2 * seed, sharpness)),
        mask_id=MASK,
        vocab_size=V,
        sampling=Sampling(),
        unmasking=Unmasking(order="entropy", schedule="even"),
    )
    verifier: CausalModel = TableVerifier(Tables(2 * seed + 1, sharpness))  # type: ignore[assignment]
    return Engine(verifier, Sampling(), drafter, V, frozenset({END}))


def verifier_law(toy: Engine, length: int) -> dict[tuple[int, ...], float]:
    """The verifier's own law of the next `length` tokens."""
    tables = toy.verifier.tables  # type: ignore[attr-defined]
    law = {}
    for text in itertools.product(range(V), repeat=length):
        probability = 1.0
        for i, token in enumerate(text):
            probability *= tables.logits((*PROMPT.tolist(), *text[:i])).softmax(-1)[token].item()
        law[text] = probability
    return law


@dataclass
class _Script:
    """One path through the tree of draws: choices made so far, and what was met beyond them."""

    choices: tuple[int, ...]
    laws: list[list[float]] = field(default_factory=list)

    def next(self, law: list[float]) -> int:
        """Take the next scripted choice, or the first possible one; remember its law."""
        index = len(self.laws)
        self.laws.append(law)
        if index < len(self.choices):
            return self.choices[index]
        choice = next(i for i, p in enumerate(law) if p > 0)
        self.choices = (*self.choices, choice)
        return choice


def enumerate_engine(
    toy: Engine, rule: AcceptanceRule, block: int, length: int, mode: str
) -> dict[tuple[int, ...], float]:
    """The exact law of the engine's first `length` tokens: every draw and every coin of it is branched over."""
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    settings = Settings(Effort(steps=block), rule, block, length, verification=mode)  # type: ignore[arg-type]
    pending: list[tuple[int, ...]] = [()]
    while pending:
        given = pending.pop()
        script = _Script(given)
        with scripted(script):
            out = toy.generate(PROMPT, settings)
        weight = float(np.prod([row[c] for row, c in zip(script.laws, script.choices, strict=True)]))
        law[out.tokens] += weight
        for depth in range(len(given), len(script.choices)):
            for other in range(script.choices[depth] + 1, len(script.laws[depth])):
                if script.laws[depth][other] > 0:
                    pending.append((*script.choices[:depth], other))
    return dict(law)


@contextmanager
def scripted(script: _Script) -> Iterator[None]:
    """Let every draw of the engine, and every acceptance coin that is looked at, follow `script`."""

    def draw(law: Tensor, generator: torch.Generator) -> Tensor:
        rows = law.reshape(-1, law.shape[-1]).double()
        picks = [script.next((row / row.sum()).tolist()) for row in rows]
        return torch.tensor(picks).view(law.shape[:-1])

    def verify_rows(
        draft: object, p: Tensor, u: Tensor, start: int, rule: AcceptanceRule, generator: torch.Generator
    ) -> tuple[int, int]:
        """Flip the coins one by one, then hand the outcome to the real code as uniforms that force it."""
        forced = torch.zeros_like(u)
        drafted = min(len(p), draft.block_size - start)  # type: ignore[attr-defined]
        y = draft.tokens[start : start + drafted]  # type: ignore[attr-defined]
        q = draft.law_rows(start, start + drafted, V)  # type: ignore[attr-defined]
        keep = rule.acceptance_of(p[:drafted], q, y, validate=False)
        for i, k in enumerate(keep.double().tolist()):
            if script.next([k, 1.0 - k]):
                forced[start + i] = 2.0
                break
        return original(draft, p, forced, start, rule, generator)

    original = verification._verify_rows
    with pytest.MonkeyPatch.context() as patch:
        for module in (masked, verification, engine):
            patch.setattr(module, "draw", draw)
        patch.setattr(verification, "_verify_rows", verify_rows)
        yield


def total_variation(a: dict[tuple[int, ...], float], b: dict[tuple[int, ...], float]) -> float:
    """TV distance of two laws given as tables."""
    return 0.5 * sum(abs(a.get(k, 0.0) - b.get(k, 0.0)) for k in a.keys() | b.keys())
