"""Costs of a pair of random weights: what drafts and verifications take at the true size, and nothing else.

Such a pair has no distances, no accuracy and no text worth reading. Its rounds run at full leniency, which keeps every
drafted token: each round is then one full block, however the random laws happen to lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from math import nan
from statistics import fmean
from typing import Any

import pandas as pd
import torch

from specfrontier.decoding import Effort, Generation, Pair, Settings
from specfrontier.decoding.drafters.base import check_count
from specfrontier.errors import InputError
from specfrontier.profile import EffortProfile, Estimate, Profile
from specfrontier.profiling import costs
from specfrontier.profiling.overhead import GENERATIONS, Overhead, measure_overhead, with_overhead
from specfrontier.profiling.profiler import ProfileSettings, device_use, longest_context
from specfrontier.profiling.provenance import provenance
from specfrontier.profiling.resampling import spread
from specfrontier.theory.rules import Linear

#: A generation's rounds. The first is thrown away: in it, a drafter with a cache reads the prompt.
ROUNDS = 3
#: Single tokens of the verifier alone, a generation.
SINGLE_TOKENS = 8
UNKNOWN = Estimate(nan, nan, nan, 0)


def profile_costs(pair: Pair, task: str, settings: ProfileSettings, *, repeats: int, prompt_tokens: int) -> Profile:
    """Measure c_d by effort, c_v by block size and context, prefill, host overhead and the verifier alone.

    Efforts and contexts (beginning, middle and end of an output) take turns within each repetition, so that a drifting
    machine slows all of them alike; the first repetitions, `settings.loop.warm_up`, are thrown away.

    Args:
        pair: of random weights.
        task: whose efforts and token limit `settings` has.
        settings: what is profiled; fixed K only, as what a threshold costs depends on the text.
        repeats: measured generations of each effort from each context, >= 1.
        prompt_tokens: length of the prompts, >= 1.

    Raises:
        InputError: if the weights are not random, a dial is out of range, or prompt and blocks exceed the context.
    """
    _check(pair, settings, repeats, prompt_tokens)
    longest = min(longest_context(pair), pair.context_length or 2**20)
    sizes = costs.verify_nodes(settings.block_size, settings.verify_block_sizes, longest - prompt_tokens)
    room = longest - max(max(sizes) + 1, _limit(settings))
    contexts = costs.context_nodes(prompt_tokens, settings.max_new_tokens, room)
    rounds, prefills = _run(pair, settings, contexts, repeats)
    verify_costs = costs.time_verifier(pair, sizes, contexts, replace(settings.loop, repeats=repeats))
    asked = {"n": repeats, "prompt_tokens": prompt_tokens, "random_weights": True, **asdict(settings)}
    profile = Profile(
        pair=pair.name,
        task=task,
        block_size=settings.block_size,
        max_new_tokens=settings.max_new_tokens,
        efforts=tuple(_effort(steps, rounds[rounds["steps"] == steps]) for steps in settings.steps),
        draft_cost=costs.draft_cost_fit(rounds, rounds["steps"]),
        verify_cost=spread(rounds["verify_s"]),
        verify_costs=tuple(verify_costs),
        verify_cost_fit=costs.verify_cost_fit(verify_costs),
        host_s=spread(rounds["accept_s"]),
        host_share=nan,
        prefill_s=spread(prefills),
        autoregressive_s=_verifier_alone(pair, settings, prompt_tokens, repeats),
        prompt_tokens=float(prompt_tokens),
        output_tokens=nan,
        provenance=provenance(pair.file, seed=settings.seed, settings=asked),
        random_weights=True,
    )
    profile = with_overhead(profile, [_overhead(pair, settings, steps, prompt_tokens) for steps in settings.steps])
    used = device_use(pair, profile, pair.random_prompt(prompt_tokens, settings.seed))
    return replace(profile, provenance={**profile.provenance, "device": used})


def _check(pair: Pair, settings: ProfileSettings, repeats: int, prompt_tokens: int) -> None:
    if not pair.random_weights:
        raise InputError(f"{pair.name} has its own weights, not random ones; profile it whole, with d_K")
    if settings.thresholds:
        raise InputError(
            f"what a threshold (tau={settings.thresholds[0]:g}) costs depends on the text, and random weights write "
            "none; give steps (K)"
        )
    check_count("n", repeats)
    check_count("prompt_tokens", prompt_tokens)
    pair.check_length(prompt_tokens, _limit(settings))


def _limit(settings: ProfileSettings) -> int:
    """Token limit at which a generation that keeps every drafted token has `ROUNDS` full rounds."""
    return ROUNDS * (settings.block_size + 1)


def _run(
    pair: Pair, settings: ProfileSettings, contexts: Sequence[int], repeats: int
) -> tuple[pd.DataFrame, list[float]]:
    """Costs of every measured round, and seconds of prefill at the first context."""
    rows: list[dict[str, Any]] = []
    prefills: list[float] = []
    for repeat in range(-settings.loop.warm_up, repeats):
        for context in contexts:
            for steps in settings.steps:
                out = _generate(pair, settings, steps, context, seed=settings.seed + max(repeat, 0))
                if repeat < 0:
                    continue
                rows += [_row(out, i, steps, f"{context}-{repeat}") for i in range(1, len(out.rounds))]
                prefills += [out.prefill_s] if context == contexts[0] else []
    return pd.DataFrame(rows), prefills


def _generate(pair: Pair, settings: ProfileSettings, steps: int, context: int, seed: int) -> Generation:
    decoding = Settings(Effort(steps), Linear(1.0), settings.block_size, _limit(settings), seed)
    return pair.run_ids(pair.random_prompt(context, seed), decoding)


def _row(out: Generation, index: int, steps: int, prompt: str) -> dict[str, Any]:
    """The columns of a round that costs are fitted on; one random prompt is one `problem`."""
    found = out.rounds[index]
    names = ("requested", "forwards", "draft_s", "verify_s", "accept_s")
    return {"steps": steps, "problem": prompt, **{name: getattr(found, name) for name in names}}


def _effort(steps: int, rounds: pd.DataFrame) -> EffortProfile:
    return EffortProfile(
        steps=steps,
        threshold=None,
        d_visited=UNKNOWN,
        d_block=UNKNOWN,
        acceptance=UNKNOWN,
        acceptance_rb=UNKNOWN,
        tv_by_position=(),
        tokens_per_round=UNKNOWN,
        forwards=float(rounds["forwards"].mean()),
        draft_s=spread(rounds["draft_s"]),
    )


def _overhead(pair: Pair, settings: ProfileSettings, steps: int, prompt_tokens: int) -> Overhead:
    seeds = range(settings.seed, settings.seed + GENERATIONS)
    return measure_overhead(pair, [partial(_generate, pair, settings, steps, prompt_tokens, seed) for seed in seeds])


def _verifier_alone(pair: Pair, settings: ProfileSettings, prompt_tokens: int, repeats: int) -> Estimate:
    """Seconds a token of the verifier alone."""
    prompt = pair.random_prompt(prompt_tokens, settings.seed)
    with torch.inference_mode():
        runs = [pair.engine.autoregressive(prompt, SINGLE_TOKENS) for _ in range(settings.loop.warm_up + repeats)]
    return spread([fmean(r.seconds for r in out.rounds) for out in runs[settings.loop.warm_up :]])
