"""The baseline outside this project: transformers' own assisted generation, with the same two models.

It drafts autoregressively; its ensemble weight w accepts against w p + (1 - w) q, which is linear leniency at
lambda = 1 - w, and a weight in (0, 1) only: lambda = 1 has no counterpart there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, PreTrainedModel
from transformers.generation.streamers import BaseStreamer

from specfrontier.decoding import Generation, Pair, Round, Sampling, Settings
from specfrontier.decoding.drafters.autoregressive import AutoregressiveDrafter
from specfrontier.errors import InputError
from specfrontier.theory.rules import Leniency, Linear, Lossless


def check_assisted(pair: Pair, rule: Leniency) -> None:
    """Raise InputError unless assisted generation can run this pair under this rule."""
    if not isinstance(pair.engine.drafter, AutoregressiveDrafter):
        raise InputError(
            f"assisted generation needs an autoregressive drafter, {pair.name} has another; leave out this mode"
        )
    ours, verifiers = pair.engine.drafter.sampling, pair.engine.verifier_sampling
    if ours.greedy != verifiers.greedy or (ours.top_p, ours.top_k) != (verifiers.top_p, verifiers.top_k):
        raise InputError(
            f"assisted generation drafts with the verifier's top-p and top-k, the drafter of {pair.name} has others; "
            "leave out this mode"
        )
    _ensemble_weight(rule)


def generate_assisted(pair: Pair, prompt: str, settings: Settings) -> Generation:
    """Generate by transformers; a round a call of the streamer, its parts are not told apart.

    The verifier's forward over the prompt also verifies the first draft; `prefill_s` is what that forward took
    beyond the mean of the later ones.

    Raises:
        InputError: if it cannot run this pair under this rule, or prompt and output exceed the context.
    """
    check_assisted(pair, settings.rule)
    drafter = pair.engine.drafter
    assert isinstance(drafter, AutoregressiveDrafter)
    ids = pair.encode(prompt)
    pair.check_length(len(ids), settings.max_new_tokens)
    network, assistant = pair.engine.verifier.network, drafter.model.network
    configuration = _configuration(pair, settings)
    _follow(assistant, settings.block_size)
    torch.manual_seed(settings.seed)
    rounds, forwards = _RoundTimer(ids.device), _ForwardTimer(network)
    own = _own_temperature(assistant, drafter.sampling, pair.engine.verifier_sampling)
    with torch.inference_mode(), forwards, own:
        rounds.start()
        output = network.generate(  # type: ignore[operator]
            ids[None], generation_config=configuration, assistant_model=assistant, streamer=rounds
        )
    tokens = tuple(output[0, len(ids) :].tolist())
    prefill_s = min(forwards.prefill_s(), rounds.total_s)
    return Generation(
        text=pair.decode(tokens),
        tokens=tokens,
        prompt_tokens=len(ids),
        finished=bool(tokens) and tokens[-1] in pair.engine.end_ids,
        prefill_s=prefill_s,
        decode_s=rounds.total_s - prefill_s,
        rounds=_rounds(rounds, forwards, len(ids), settings, prefill_s),
    )


def _ensemble_weight(rule: Leniency) -> float | None:
    if isinstance(rule, Lossless) or (isinstance(rule, Linear) and rule.lam == 0):
        return None
    if isinstance(rule, Linear) and 0 < rule.lam < 1:
        return 1 - rule.lam
    raise InputError(f"assisted generation has no rule {rule.spec}; give lossless, or linear with lambda in [0, 1)")


def _configuration(pair: Pair, settings: Settings) -> GenerationConfig:
    return GenerationConfig(
        max_new_tokens=settings.max_new_tokens,
        eos_token_id=sorted(pair.engine.end_ids),
        pad_token_id=min(pair.engine.end_ids),
        assistant_ensemble_weight=_ensemble_weight(settings.rule),
        **_sampling(pair.engine.verifier_sampling),
    )


def _sampling(sampling: Sampling) -> dict[str, Any]:
    if sampling.greedy:
        return {"do_sample": False}
    return {
        "do_sample": True,
        "temperature": float(sampling.temperature),
        "top_p": 1.0 if sampling.top_p is None else sampling.top_p,
        "top_k": 0 if sampling.top_k is None else sampling.top_k,
    }


def _follow(assistant: PreTrainedModel, block_size: int) -> None:
    """Have the assistant draft blocks of one size, all of them whole."""
    configuration = assistant.generation_config
    configuration.num_assistant_tokens = block_size
    configuration.num_assistant_tokens_schedule = "constant"
    configuration.assistant_confidence_threshold = 0.0


@contextmanager
def _own_temperature(assistant: PreTrainedModel, drafter: Sampling, verifier: Sampling) -> Iterator[None]:
    """Have the assistant draft at its own temperature.

    transformers draws drafts by the verifier's settings, and applies its temperature twice: once as the processors that
    it hands on, once from the configuration (0.7 drafts at 0.49). Logits scaled by the quotient make it what was asked.
    """
    scale = 1.0 if drafter.greedy else verifier.temperature**2 / drafter.temperature

    def scaled(_: object, __: object, out: Any) -> Any:
        out.logits = out.logits * scale
        return out

    hook = assistant.register_forward_hook(scaled)
    try:
        yield
    finally:
        hook.remove()


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


class _RoundTimer(BaseStreamer):
    """Called by transformers with the prompt, then with the tokens of every round."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.emitted: list[int] = []
        self.seconds: list[float] = []
        self.prompt_seen = False

    def start(self) -> None:
        self.last = self.began = _now(self.device)

    def put(self, value: Tensor) -> None:
        now = _now(self.device)
        if self.prompt_seen:
            self.emitted.append(value.numel())
            self.seconds.append(now - self.last)
            self.last = now
        self.prompt_seen = True

    def end(self) -> None:
        """Nothing is left to note."""

    @property
    def total_s(self) -> float:
        return self.last - self.began


class _ForwardTimer:
    """Seconds of each of the verifier's forwards."""

    def __init__(self, network: PreTrainedModel) -> None:
        self.network = network
        self.seconds: list[float] = []
        self.fed: list[int] = []

    def __enter__(self) -> None:
        def before(_: object, args: object, kwargs: dict[str, Any]) -> None:
            self.fed.append(kwargs["input_ids"].shape[1])
            self.started = _now(self.network.device)

        def after(*_: object) -> None:
            self.seconds.append(_now(self.network.device) - self.started)

        self.hooks = [
            self.network.register_forward_pre_hook(before, with_kwargs=True),
            self.network.register_forward_hook(after),
        ]

    def __exit__(self, *_: object) -> None:
        for hook in self.hooks:
            hook.remove()

    def prefill_s(self) -> float:
        if len(self.seconds) < 2:
            return 0.0
        later = self.seconds[1:]
        return max(0.0, self.seconds[0] - sum(later) / len(later))


def _rounds(
    timer: _RoundTimer, forwards: _ForwardTimer, prompt_tokens: int, settings: Settings, prefill_s: float
) -> tuple[Round, ...]:
    records, context = [], prompt_tokens
    for i, emitted in enumerate(timer.emitted):
        drafted = forwards.fed[i] - (prompt_tokens if i == 0 else 1)
        verify_s = forwards.seconds[i] - (prefill_s if i == 0 else 0)
        seconds = timer.seconds[i] - (prefill_s if i == 0 else 0)
        records.append(
            Round(
                index=i,
                context=context,
                requested=settings.block_size,
                drafted=drafted,
                verified=drafted,
                accepted=min(emitted - 1, drafted),
                emitted=emitted,
                forwards=drafted,
                draft_s=max(0.0, seconds - verify_s),
                verify_s=verify_s,
                accept_s=0.0,
            )
        )
        context += emitted
    return tuple(records)
