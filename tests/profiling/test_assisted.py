"""Transformers' own assisted generation, measured beside ours."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers.generation import utils

from specfrontier.decoding import Effort, Generation, Pair, Sampling, Settings
from specfrontier.errors import InputError
from specfrontier.profiling import assisted
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.grid import SweepGrid
from specfrontier.profiling.modes import run_configuration
from specfrontier.profiling.records import problem_record
from specfrontier.theory.rules import Clip, Linear, Lossless


def _configuration(mode: str, rule: str = "lossless") -> Configuration:
    verification = "paper" if mode == "speculative" else None
    return Configuration(
        "toy-ar",
        "toy",
        mode,  # type: ignore[arg-type]
        12,
        steps=1,
        rule=rule,
        block_size=3,
        verification=verification,  # type: ignore[arg-type]
    )


def _generations(pair: Pair, task: Any, configuration: Configuration, n: int) -> list[Generation]:
    return [
        run_configuration(pair, task.prompt(p), configuration, configuration.problem_seed(p.identifier), trace=False)
        for p in task.problems(n)
    ]


def test_its_rounds_account_for_every_token_and_second(ar_pair: Pair, task: Any) -> None:
    for generation in _generations(ar_pair, task, _configuration("assisted"), 5):
        assert sum(r.emitted for r in generation.rounds) == len(generation.tokens) <= 12
        assert sum(r.seconds for r in generation.rounds) == pytest.approx(generation.decode_s, rel=0.05)
        assert all(0 <= r.accepted <= r.drafted <= 3 for r in generation.rounds)


def test_its_acceptance_is_that_of_our_own_verification(ar_pair: Pair, task: Any) -> None:
    """Two counts of about 300 positions at a rate near 0.96: five standard errors of the difference is 0.08."""
    rates = []
    for mode in ("assisted", "speculative"):
        found = _generations(ar_pair, task, _configuration(mode), 30)
        rows = [problem_record("c", "p", generation, None).problem for generation in found]
        rates.append(sum(r["accepted"] for r in rows) / sum(r["visited"] for r in rows))
    assert math.isclose(*rates, abs_tol=0.08)


def test_its_ensemble_weight_is_one_minus_lambda() -> None:
    assert assisted._ensemble_weight(Linear(0.25)) == 0.75
    assert assisted._ensemble_weight(Lossless()) is None
    assert assisted._ensemble_weight(Linear(0.0)) is None


@pytest.mark.parametrize("rule", [Linear(1.0), Clip(2.0)])
def test_a_rule_that_it_has_not_is_refused(ar_pair: Pair, rule: Any) -> None:
    with pytest.raises(InputError, match=r"has no rule .*linear with lambda in \[0, 1\)"):
        assisted.check_assisted(ar_pair, rule)


def test_a_diffusion_drafter_is_refused(masked_pair: Pair) -> None:
    with pytest.raises(InputError, match="needs an autoregressive drafter"):
        assisted.check_assisted(masked_pair, Lossless())


def test_a_grid_asks_only_for_rules_that_it_has() -> None:
    grid = SweepGrid((1, 2), (0.5,), ("lossless", "linear:0.5", "linear:1.0", "clip:2.0"), (4,), 8, modes=("assisted",))
    found = grid.configurations("toy-ar", "toy")
    assert [c.rule for c in found] == ["lossless", "linear:0.5"]


def test_a_prompt_beyond_the_context_is_the_same_line_in_every_mode(ar_pair: Pair, task: Any) -> None:
    """Transformers by itself would run past the positions that the models were made for."""
    prompt = " ".join(["w1"] * (ar_pair.context_length or 0))
    lines = set()
    for mode in ("speculative", "autoregressive", "drafter", "assisted"):
        with pytest.raises(InputError, match=r"a prompt of 128 tokens .* exceed the context") as caught:
            run_configuration(ar_pair, prompt, _configuration(mode), 0, trace=False)
        lines.add(str(caught.value))
    assert len(lines) == 1


@pytest.mark.parametrize(("ours", "verifiers"), [(0.7, 0.7), (0.9, 0.6)])
def test_its_drafts_have_our_drafters_law(
    ar_pair: Pair, task: Any, monkeypatch: pytest.MonkeyPatch, ours: float, verifiers: float
) -> None:
    """The laws that its verification divides by, against the drafter's logits at the drafter's own temperature."""
    pair = ar_pair
    drafter = copy(pair.engine.drafter)
    drafter.sampling = Sampling(temperature=ours)  # type: ignore[attr-defined]
    engine = replace(pair.engine, drafter=drafter, verifier_sampling=Sampling(temperature=verifiers))
    seen: list[tuple[Any, Any, int]] = []
    theirs = utils._speculative_sampling

    def spy(ids: Any, logits: Any, length: int, *rest: Any, **named: Any) -> Any:
        seen.append((ids.clone(), logits.clone(), length))
        return theirs(ids, logits, length, *rest, **named)

    monkeypatch.setattr(utils, "_speculative_sampling", spy)
    settings = Settings(Effort(1), block_size=3, max_new_tokens=8, seed=1)
    assisted.generate_assisted(replace(pair, engine=engine), task.prompt(task.problems(1)[0]), settings)
    for ids, logits, length in seen:
        with torch.inference_mode():
            rows = drafter.model.session().forward(ids[0, :-1], rows=length)  # type: ignore[attr-defined]
        torch.testing.assert_close(logits[0].softmax(-1), (rows / ours).softmax(-1), rtol=1e-3, atol=1e-5)
    assert seen
