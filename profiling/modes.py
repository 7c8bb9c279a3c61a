"""Run one problem in one configuration: Algorithm 1, or one of the baselines beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from specfrontier.decoding import Generation, Pair
from specfrontier.errors import InputError
from specfrontier.profiling.assisted import check_assisted, generate_assisted
from specfrontier.profiling.configuration import Configuration, Mode

Runner = Callable[[Pair, str, Configuration, int, bool], Generation]


def pair_for_task(pair: Pair, task: str) -> Pair:
    """The pair with `task` first among its tasks, so that its prompts are those of that task."""
    others = tuple(name for name in pair.file.tasks if name != task)
    return replace(pair, file=replace(pair.file, tasks=(task, *others)))


def run_configuration(
    pair: Pair, prompt: str, configuration: Configuration, seed: int, trace: bool = True
) -> Generation:
    """Generate from `prompt` as the configuration says.

    Args:
        pair: with the configuration's task first (`pair_for_task`).
        seed: of the problem.
        trace: record the laws of every position of every round, outside the clock.
    """
    return RUNNERS[configuration.mode](pair, prompt, configuration, seed, trace)


def check_configuration(pair: Pair, configuration: Configuration) -> None:
    """Raise InputError if the pair cannot run a configuration at all."""
    if configuration.mode == "autoregressive":
        return
    settings = configuration.settings(0)
    pair.engine.drafter.check_effort(settings.effort)
    if configuration.mode == "assisted":
        check_assisted(pair, settings.rule)
    if configuration.mode == "drafter" and pair.engine.drafter.feature_layers:
        raise InputError(f"the drafter of {pair.name} reads the verifier's hidden states and cannot run alone")


def _speculative(pair: Pair, prompt: str, configuration: Configuration, seed: int, trace: bool) -> Generation:
    return pair.run(prompt, configuration.settings(seed, trace))


def _autoregressive(pair: Pair, prompt: str, configuration: Configuration, seed: int, _: bool) -> Generation:
    return pair.autoregressive(prompt, max_new_tokens=configuration.max_new_tokens, seed=seed)


def _drafter(pair: Pair, prompt: str, configuration: Configuration, seed: int, _: bool) -> Generation:
    return pair.drafter_alone(prompt, configuration.settings(seed))


def _assisted(pair: Pair, prompt: str, configuration: Configuration, seed: int, _: bool) -> Generation:
    return generate_assisted(pair, prompt, configuration.settings(seed))


RUNNERS: dict[Mode, Runner] = {
    "speculative": _speculative,
    "autoregressive": _autoregressive,
    "drafter": _drafter,
    "assisted": _assisted,
}
