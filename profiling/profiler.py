"""Profile a pair: run it losslessly at each effort, time its verifier, and sum up what predictions start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import nan
from typing import TYPE_CHECKING, Any

import pandas as pd
import torch

from specfrontier.decoding import DraftRequest, Effort, Pair
from specfrontier.errors import InputError
from specfrontier.profile import EffortProfile, Estimate, Profile, VerifyCost
from specfrontier.profiling import costs, hardware
from specfrontier.profiling.configuration import Configuration
from specfrontier.profiling.divergence import divergence
from specfrontier.profiling.grid import SweepGrid
from specfrontier.profiling.modes import pair_for_task, run_configuration
from specfrontier.profiling.overhead import GENERATIONS, Overhead, measure_overhead, with_overhead
from specfrontier.profiling.provenance import provenance
from specfrontier.profiling.resampling import ratio, spread
from specfrontier.profiling.store import Store, Tables
from specfrontier.profiling.sweep import sweep

if TYPE_CHECKING:
    from specfrontier.profiling.tasks.base import Task, TaskProblem


@dataclass(frozen=True)
class ProfileSettings:
    """What is profiled.

    Attributes:
        steps, thresholds: the efforts.
        block_size: B of draft costs and distances.
        max_new_tokens: token limit.
        verify_block_sizes: further block sizes at which the verifier is timed.
        seed: of every random draw.
        loop: repetitions of the verifier's timing.
        anchors: specs of lenient rules that are recorded too, for predictions to interpolate between.
    """

    steps: tuple[int, ...]
    thresholds: tuple[float, ...]
    block_size: int
    max_new_tokens: int
    verify_block_sizes: tuple[int, ...] = ()
    seed: int = 0
    loop: costs.Loop = costs.Loop()  # noqa: RUF009  (frozen)
    anchors: tuple[str, ...] = ()

    def configurations(self, pair: str, task: str) -> list[Configuration]:
        """The verifier alone, and decoding at each effort: lossless, and under every anchor."""
        grid = SweepGrid(
            steps=self.steps,
            thresholds=self.thresholds,
            rules=("lossless", *self.anchors),
            block_sizes=(self.block_size,),
            max_new_tokens=self.max_new_tokens,
            seeds=(self.seed,),
            modes=("autoregressive", "speculative"),
        )
        return grid.configurations(pair, task)


def profile_pair(
    pair: Pair, task: Task, problems: Sequence[TaskProblem], settings: ProfileSettings, store: Store
) -> Profile:
    """Run what is missing in the store, time the verifier, and build the profile.

    Raises:
        InputError: if a lossless configuration cannot be run, or the store holds results without traces.
    """
    configurations = settings.configurations(pair.name, task.name)
    _require_traces(store, configurations)
    done = sweep(pair, task, problems, configurations, store, retry_failed=True)
    if done.failed:
        label, error = next(iter(done.failed.items()))
        raise InputError(f"cannot profile {pair.name} at {label}: {error}")
    tables = store.tables()
    nodes = _time_verifier(pair, tables, settings)
    stated = provenance(pair.file, seed=settings.seed, settings={"n": len(problems), **_plain(settings)})
    profile = build_profile(tables, configurations, nodes, settings, stated)
    pair = pair_for_task(pair, task.name)
    profile = with_overhead(profile, [_overhead(pair, task, problems, c) for c in _lossless(configurations)])
    used = device_use(pair, profile, pair.encode(task.prompt(problems[0])))
    return replace(profile, provenance={**stated, "device": used})


def build_profile(
    tables: Tables,
    configurations: Sequence[Configuration],
    verify_costs: Sequence[VerifyCost],
    settings: ProfileSettings,
    stated: dict[str, Any],
) -> Profile:
    """The profile of the lossless runs in `tables`, but for the share of the host, which no table has.

    Args:
        configurations: of the profile; others in the tables are passed over.
        verify_costs: the verifier's times by block size and context.
        settings: as the runs were made.
        stated: provenance.
    """
    lossless = _lossless(configurations)
    keys = {c.key: c for c in lossless}
    rounds = tables.rounds[tables.rounds["config"].isin(keys)]
    problems = tables.problems[tables.problems["config"].isin(keys)]
    autoregressive = {c.key for c in configurations if c.mode == "autoregressive"}
    alone = tables.problems[tables.problems["config"].isin(autoregressive)]
    groups = dict(tuple(rounds.groupby("config")))
    full = costs.full_blocks(rounds)
    fixed = full[full["config"].map(lambda key: keys[key].threshold is None)]
    return Profile(
        pair=lossless[0].pair,
        task=lossless[0].task,
        block_size=settings.block_size,
        max_new_tokens=settings.max_new_tokens,
        efforts=tuple(_effort(c, groups[c.key]) for c in lossless),
        draft_cost=costs.draft_cost_fit(fixed, fixed["config"].map(lambda key: keys[key].steps)),
        verify_cost=spread(full["verify_s"]),
        verify_costs=tuple(verify_costs),
        verify_cost_fit=costs.verify_cost_fit(verify_costs),
        host_s=spread(rounds["accept_s"]),
        host_share=nan,
        prefill_s=spread(problems["prefill_s"]),
        autoregressive_s=_autoregressive(alone),
        prompt_tokens=float(problems["prompt_tokens"].mean()),
        output_tokens=float(problems["output_tokens"].mean()),
        provenance=stated,
    )


def _lossless(configurations: Sequence[Configuration]) -> list[Configuration]:
    return [c for c in configurations if c.mode == "speculative" and c.rule == "lossless"]


def _require_traces(store: Store, configurations: Sequence[Configuration]) -> None:
    """Raise InputError if the profile would rest on problems of which no laws were recorded."""
    rounds = store.tables().rounds
    drafted = rounds["config"].isin([c.key for c in configurations if c.mode == "speculative"])
    untraced = rounds.loc[drafted & rounds["tv"].isna(), "problem"].nunique()
    if untraced:
        raise InputError(
            f"{store.folder} holds {untraced} problem{'s' * (untraced > 1)} that the profile would rest on and that "
            "were measured without traces, from which d_K is read; give another --out, or measure in a new folder "
            "without --no-trace"
        )


def _overhead(pair: Pair, task: Task, problems: Sequence[TaskProblem], configuration: Configuration) -> Overhead:
    """What of the configuration's rounds is no forward, on the first few problems."""
    runs = [
        partial(run_configuration, pair, task.prompt(p), configuration, configuration.problem_seed(p.identifier), False)
        for p in problems[:GENERATIONS]
    ]
    return measure_overhead(pair, runs)


def device_use(pair: Pair, profile: Profile, ids: torch.Tensor) -> dict[str, Any]:
    """The device's measured rates, and the share of them that verifier forwards and drafts after `ids` [T] use."""
    device = pair.engine.verifier.device
    dtype = next(pair.engine.verifier.network.parameters()).dtype
    rates = hardware.device_rates(device, dtype)
    uses = [
        hardware.verifier_use(pair, rates, node.block_size, node.context, node.seconds.value)
        for node in profile.verify_costs
    ]
    features = _features(pair, ids)
    for effort in profile.efforts:
        if effort.threshold is not None:
            continue  # its number of forwards depends on the text
        used = hardware.draft_use(
            pair,
            rates,
            f"draft K={effort.steps}",
            lambda k=effort.steps: _draft_once(pair, ids, k, profile.block_size, features),  # type: ignore[misc]
            effort.draft_s.value,
        )
        uses += [used] if used is not None else []
    return {"rates": asdict(rates), "forwards": [asdict(use) for use in uses]}


def _features(pair: Pair, prefix: torch.Tensor) -> torch.Tensor | None:
    """The verifier's hidden states of a prefix but its last token, for a drafter that reads them."""
    if not pair.engine.drafter.feature_layers:
        return None
    session = pair.engine.verifier.session()
    with torch.inference_mode():
        session.forward(prefix[:-1], rows=1)
    return session.features


def _draft_once(pair: Pair, prefix: torch.Tensor, steps: int, block_size: int, features: torch.Tensor | None) -> int:
    generator = torch.Generator(prefix.device).manual_seed(0)
    request = DraftRequest(prefix, block_size, Effort(steps), generator, features=features)
    return pair.engine.drafter.session().draft(request).forwards


def _effort(configuration: Configuration, rounds: pd.DataFrame) -> EffortProfile:
    found = divergence(rounds, seed=configuration.seed)
    full = costs.full_blocks(rounds)
    return EffortProfile(
        steps=configuration.steps,
        threshold=configuration.threshold,
        d_visited=found.visited,
        d_block=found.block,
        acceptance=found.acceptance,
        acceptance_rb=found.acceptance_rb,
        tv_by_position=found.by_position,
        tokens_per_round=found.tokens_per_round,
        forwards=float(full["forwards"].mean()),
        draft_s=spread(full["draft_s"]),
    )


def _autoregressive(problems: pd.DataFrame) -> Estimate:
    return ratio(problems["decode_s"], problems["output_tokens"]).estimate


def _time_verifier(pair: Pair, tables: Tables, settings: ProfileSettings) -> list[VerifyCost]:
    longest = longest_context(pair)
    sizes = costs.verify_nodes(settings.block_size, settings.verify_block_sizes, longest)
    room = longest - max(sizes) - 1
    contexts = costs.context_nodes(tables.problems["prompt_tokens"].mean(), settings.max_new_tokens, room)
    return costs.time_verifier(pair, sizes, contexts, settings.loop)


def longest_context(pair: Pair) -> int:
    """Positions that the verifier reaches."""
    config = pair.engine.verifier.network.config.get_text_config()
    return int(getattr(config, "max_position_embeddings", None) or 2**20)


def _plain(settings: ProfileSettings) -> dict[str, Any]:
    return asdict(settings)
