"""A loaded pair: text in, text and records out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from specfrontier.decoding.drafters.base import Effort
from specfrontier.decoding.engine import Engine, Settings, Verification
from specfrontier.decoding.pair_file import PairFile
from specfrontier.decoding.records import Generation
from specfrontier.errors import InputError
from specfrontier.theory.rules import Leniency, Lossless


@dataclass(frozen=True)
class Pair:
    """A drafter and a verifier, ready to generate.

    Attributes:
        file: what the pair's file states.
        engine: Algorithm 1 over token ids.
        tokenizer: shared by both models.
        context_length: tokens that prompt and output may have together, None if not known.
        random_weights: whether weights are random numbers, so that only costs mean anything.
    """

    file: PairFile
    engine: Engine
    tokenizer: PreTrainedTokenizerBase
    context_length: int | None = None
    random_weights: bool = False

    @property
    def name(self) -> str:
        return self.file.name

    def generate(
        self,
        prompt: str,
        *,
        steps: int | None = None,
        threshold: float | None = None,
        rule: Leniency | None = None,
        block_size: int | None = None,
        max_new_tokens: int | None = None,
        seed: int = 0,
        verification: Verification = "paper",
        trace: bool = False,
    ) -> Generation:
        """Speculative diffusion (Algorithm 1) from a prompt.

        Args:
            prompt: text; wrapped as the pair's file says.
            steps: K >= 1, denoising steps (1 if no threshold is given).
            threshold: tau in (0, 1] in place of a fixed K, for families that take it.
            rule: acceptance rule or schedule of rules; lossless if None.
            block_size: B >= 1; the pair's own if None.
            max_new_tokens: token limit; the pair's own if None.
            seed, verification, trace: see `Settings`.

        Raises:
            InputError: if the prompt is empty or a dial is out of range.
        """
        if steps is None and threshold is None:
            steps = 1
        settings = Settings(
            effort=Effort(steps, threshold),
            rule=rule or Lossless(),
            block_size=self.file.block_size if block_size is None else block_size,
            max_new_tokens=self.file.token_limit() if max_new_tokens is None else max_new_tokens,
            seed=seed,
            verification=verification,
            trace=trace,
        )
        return self.run(prompt, settings)

    def run(self, prompt: str, settings: Settings) -> Generation:
        """Algorithm 1 with explicit settings."""
        return self.run_ids(self.encode(prompt), settings)

    def run_ids(self, prompt: Tensor, settings: Settings) -> Generation:
        """Algorithm 1 from prompt ids [T], the way in for random weights, whose costs alone are measured."""
        if self.random_weights and settings.trace:
            raise InputError("a pair of random weights has no d_K and no laws worth tracing; it measures costs only")
        self.check_length(len(prompt), settings.max_new_tokens)
        with torch.inference_mode():
            return self._with_text(self.engine.generate(prompt, settings))

    def random_prompt(self, length: int, seed: int = 0) -> Tensor:
        """Ids [length] drawn uniformly, to measure costs with."""
        generator = torch.Generator().manual_seed(seed)
        ids = torch.randint(self.engine.vocab_size, (length,), generator=generator)
        return ids.to(self.engine.verifier.device)

    def check_length(self, prompt_tokens: int, max_new_tokens: int) -> None:
        """Raise InputError unless prompt and output fit the models' context."""
        if self.context_length is not None and prompt_tokens + max_new_tokens > self.context_length:
            raise InputError(
                f"a prompt of {prompt_tokens} tokens and max_new_tokens={max_new_tokens} exceed the context of "
                f"{self.context_length} tokens; shorten the prompt or lower max_new_tokens"
            )

    def autoregressive(self, prompt: str, *, max_new_tokens: int | None = None, seed: int = 0) -> Generation:
        """The verifier alone."""
        limit = self.file.token_limit() if max_new_tokens is None else max_new_tokens
        ids = self.encode(prompt)
        self.check_length(len(ids), limit)
        with torch.inference_mode():
            return self._with_text(self.engine.autoregressive(ids, limit, seed))

    def drafter_alone(self, prompt: str, settings: Settings) -> Generation:
        """The drafter alone, block by block (diffusion without a verifier)."""
        ids = self.encode(prompt)
        self.check_length(len(ids), settings.max_new_tokens)
        with torch.inference_mode():
            return self._with_text(self.engine.drafter_alone(ids, settings))

    def log_likelihood(self, prompt: str, tokens: Sequence[int]) -> float:
        """The verifier's log-probability, in nats, of the output `tokens` (at least one) after a prompt.

        At temperature 1 and without truncation, so that it is finite whoever wrote them, and one measure for all.
        """
        ids = self.encode(prompt)
        output = torch.tensor(list(tokens), device=ids.device)
        with torch.inference_mode():
            logits = self.engine.verifier.session().forward(torch.cat((ids, output[:-1])), rows=len(output))
            laws = logits[:, : self.engine.vocab_size].float().log_softmax(-1)
        return float(laws.gather(1, output[:, None]).double().sum())

    def encode(self, prompt: str, task: str | None = None) -> Tensor:
        """Prompt ids [T] on the verifier's device."""
        if self.random_weights:
            raise InputError(
                "a pair of random weights reads no text and has no accuracy: use random_prompt and run_ids for costs"
            )
        if not prompt.strip():
            raise InputError("the prompt is empty; give some text")
        form = self.file.prompt
        text = form.instruction.get(task or self.file.tasks[0], "") + prompt
        if form.chat_template:
            message = [{"role": "user", "content": text}]
            options: dict[str, Any] = {
                "tokenize": False,
                "add_generation_prompt": True,
                "enable_thinking": False,
            }
            text = str(self.tokenizer.apply_chat_template(message, **options))
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        if not ids:
            raise InputError(f"the prompt {prompt!r} has no tokens; give some text")
        return torch.tensor(ids, device=self.engine.verifier.device)

    def _with_text(self, generation: Generation) -> Generation:
        if self.random_weights:
            return generation
        return replace(generation, text=self.decode(generation.tokens))

    def decode(self, tokens: tuple[int, ...]) -> str:
        """Text of output tokens, end tokens left out."""
        kept = [t for t in tokens if t not in self.engine.end_ids]
        return str(self.tokenizer.decode(kept, skip_special_tokens=False))
