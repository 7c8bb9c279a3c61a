"""Algorithm 1, and the two loops that it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from specfrontier.decoding.causal import CausalModel, CausalSession
from specfrontier.decoding.clock import RoundClock
from specfrontier.decoding.drafters.base import Draft, Drafter, DraftRequest, Effort, check_block_size, check_count
from specfrontier.decoding.records import Generation, Round
from specfrontier.decoding.sampling import Sampling, draw
from specfrontier.decoding.trace import trace_positions
from specfrontier.decoding.verification import Verdict, verify
from specfrontier.errors import InputError
from specfrontier.theory.exactness import exact_prefix_length
from specfrontier.theory.rules import AcceptanceRule, Leniency, Lossless, RuleSchedule

Verification = Literal["paper", "exact"]


@dataclass(frozen=True)
class Settings:
    """The dials of a generation.

    Args:
        effort: diffusion effort of a draft.
        rule: acceptance rule, or a schedule of rules by position.
        block_size: B >= 1; a block is never longer than what the token limit leaves.
        max_new_tokens: token limit, >= 1.
        seed: of every random draw.
        verification: `paper` is Algorithm 1 as printed, samplers as published. `exact` chooses positions
            without looking at draws and cuts a block at its first violation of the order condition, so that a
            lossless rule emits the verifier's law (Proposition 2 for a block).
        trace: record the laws of every position (costs time outside the round's clock).
    """

    effort: Effort
    rule: Leniency = field(default_factory=Lossless)
    block_size: int = 32
    max_new_tokens: int = 64
    seed: int = 0
    verification: Verification = "paper"
    trace: bool = False

    def __post_init__(self) -> None:
        check_count("block_size (B)", self.block_size)
        check_count("max_new_tokens", self.max_new_tokens)
        if not isinstance(self.rule, AcceptanceRule | RuleSchedule):
            raise InputError(f"rule is {self.rule!r}; give an acceptance rule such as Linear(0.3), or a RuleSchedule")
        if self.verification not in ("paper", "exact"):
            raise InputError(f"verification is {self.verification!r}; choose paper or exact")


@dataclass(frozen=True)
class Engine:
    """A drafter and a verifier over one vocabulary.

    Attributes:
        verifier: the causal model p.
        verifier_sampling: how p's tokens are drawn; its law is the p of every formula.
        drafter: the model q.
        vocab_size: ids that both models share; logits beyond it are padding.
        end_ids: tokens that end an output.
    """

    verifier: CausalModel
    verifier_sampling: Sampling
    drafter: Drafter
    vocab_size: int
    end_ids: frozenset[int]

    def generate(self, prompt: Tensor, settings: Settings) -> Generation:
        """Algorithm 1 from `prompt` [T]."""
        self.drafter.check_effort(settings.effort)
        check_block_size(self.drafter, settings.block_size)
        output = _Output(prompt, settings.max_new_tokens, self.end_ids)
        generator = self._generator(settings.seed)
        verifier, drafter = self.verifier.session(), self.drafter.session()
        prefill_s = self._prefill(verifier, prompt)
        features = verifier.features
        rounds: list[Round] = []
        while not output.done:
            clock = RoundClock(prompt.device)
            clock.mark()
            request = DraftRequest(
                prefix=output.ids,
                block_size=min(settings.block_size, output.remaining),
                effort=settings.effort,
                generator=generator,
                exact=settings.verification == "exact",
                features=features,
            )
            draft = drafter.draft(request)
            block = self._cut(draft, settings.verification)
            clock.mark()
            logits = verifier.forward(torch.cat((output.ids[-1:], block.tokens)))[:, : self.vocab_size]
            clock.mark()
            verdict = verify(block, logits, self.verifier_sampling, settings.rule, generator)
            context = len(output.ids)
            emitted = output.append(block.tokens, verdict)
            verifier.rollback(block.block_size - verdict.accepted)
            if verifier.features is not None:
                features = verifier.features[: verdict.accepted + 1]
            clock.mark()
            rounds.append(
                self._record(len(rounds), context, request, draft, block, verdict, emitted, clock, logits, settings)
            )
        return output.generation(prefill_s, rounds)

    def autoregressive(self, prompt: Tensor, max_new_tokens: int, seed: int = 0) -> Generation:
        """The verifier alone, a token a forward. Each token is a round that drafted nothing."""
        output = _Output(prompt, max_new_tokens, self.end_ids)
        generator = self._generator(seed)
        verifier = self.verifier.session()
        prefill_s = self._prefill(verifier, prompt)
        rounds: list[Round] = []
        while not output.done:
            clock = RoundClock(prompt.device)
            clock.mark()
            logits = verifier.forward(output.ids[-1:])[:, : self.vocab_size]
            clock.mark()
            token = int(draw(self.verifier_sampling.law(logits[-1]), generator))
            context = len(output.ids)
            output.append(output.ids[:0], Verdict(0, token))
            verifier.rollback(0)
            clock.mark()
            verify_s, accept_s = clock.seconds()
            rounds.append(Round(len(rounds), context, 0, 0, 0, 0, 1, 0, 0.0, verify_s, accept_s))
        return output.generation(prefill_s, rounds)

    def drafter_alone(self, prompt: Tensor, settings: Settings) -> Generation:
        """Diffusion alone: every block is kept whole, the verifier never runs."""
        self.drafter.check_effort(settings.effort)
        check_block_size(self.drafter, settings.block_size)
        if self.drafter.feature_layers:
            raise InputError("this drafter reads the verifier's hidden states and cannot run alone")
        output = _Output(prompt, settings.max_new_tokens, self.end_ids)
        generator = self._generator(settings.seed)
        drafter = self.drafter.session()
        rounds: list[Round] = []
        while not output.done:
            clock = RoundClock(prompt.device)
            clock.mark()
            size, context = min(settings.block_size, output.remaining), len(output.ids)
            draft = drafter.draft(DraftRequest(output.ids, size, settings.effort, generator, alone=True))
            clock.mark()
            emitted = output.append(draft.tokens, None)
            clock.mark()
            draft_s, accept_s = clock.seconds()
            rounds.append(
                Round(
                    len(rounds),
                    context,
                    size,
                    emitted,
                    0,
                    emitted,
                    emitted,
                    draft.forwards,
                    draft_s,
                    0.0,
                    accept_s,
                )
            )
        return output.generation(0.0, rounds)

    def _generator(self, seed: int) -> torch.Generator:
        return torch.Generator(self.verifier.device).manual_seed(seed)

    def _prefill(self, verifier: CausalSession, prompt: Tensor) -> float:
        """Feed all of the prompt but its last token, which the first round feeds; return the seconds."""
        clock = RoundClock(prompt.device)
        clock.mark()
        if len(prompt) > 1:
            verifier.forward(prompt[:-1], rows=1)
            verifier.rollback(0)
        clock.mark()
        return clock.seconds()[0]

    def _cut(self, draft: Draft, verification: Verification) -> Draft:
        """Drop what need not or must not be verified.

        Tokens after a drafted end token don't exist. Under `exact`, neither does what follows the first
        violation of the order condition: the cut is known before that position's token is looked at. Reading the
        steps makes a GPU's host wait a second time in the round; the positions cut need no verification for it. A
        drafted end token is left for the host to find after the round there, as reading it here would stall.
        """
        length = draft.block_size
        if verification == "exact":
            length = int(exact_prefix_length(draft.steps.cpu().numpy()))
        if not draft.tokens.is_cuda:
            length = min(length, _length_to_end(draft.tokens.tolist(), self.end_ids))
        return draft.truncated(length)

    def _record(
        self,
        index: int,
        context: int,
        request: DraftRequest,
        draft: Draft,
        block: Draft,
        verdict: Verdict,
        emitted: int,
        clock: RoundClock,
        logits: Tensor,
        settings: Settings,
    ) -> Round:
        draft_s, verify_s, accept_s = clock.seconds()
        drafted = _length_to_end(draft.tokens.tolist(), self.end_ids)
        existing = block.truncated(drafted)
        trace = None
        if settings.trace:
            trace = trace_positions(existing, logits, self.verifier_sampling, settings.rule)
        return Round(
            index=index,
            context=context,
            requested=request.block_size,
            drafted=drafted,
            verified=existing.block_size,
            accepted=min(verdict.accepted, existing.block_size),
            emitted=emitted,
            forwards=draft.forwards,
            draft_s=draft_s,
            verify_s=verify_s,
            accept_s=accept_s,
            trace=trace,
        )


def _length_to_end(tokens: list[int], end_ids: frozenset[int]) -> int:
    """Number of leading tokens up to the first end token, that one included."""
    for i, token in enumerate(tokens):
        if token in end_ids:
            return i + 1
    return len(tokens)


class _Output:
    """Prompt and output so far, and whether more may come."""

    def __init__(self, prompt: Tensor, limit: int, end_ids: frozenset[int]) -> None:
        if not len(prompt):
            raise InputError("the prompt has no tokens; give at least one")
        check_count("max_new_tokens", limit)
        self.ids, self.prompt_tokens, self.limit, self.end_ids = prompt, len(prompt), limit, end_ids
        self.finished = False

    @property
    def remaining(self) -> int:
        return self.limit - (len(self.ids) - self.prompt_tokens)

    @property
    def done(self) -> bool:
        return self.finished or self.remaining == 0

    def append(self, drafted: Tensor, verdict: Verdict | None) -> int:
        """Add accepted tokens and the one that follows them (without a verdict: the whole draft).

        What lies beyond an end token or the limit is dropped. Returns how many tokens were added.
        """
        new = drafted.tolist() if verdict is None else [*drafted[: verdict.accepted].tolist(), verdict.token]
        new = new[: min(self.remaining, _length_to_end(new, self.end_ids))]
        self.finished = new[-1] in self.end_ids
        self.ids = torch.cat((self.ids, torch.tensor(new, device=self.ids.device)))
        return len(new)

    def generation(self, prefill_s: float, rounds: list[Round]) -> Generation:
        """The generation without its text, which needs a tokenizer."""
        return Generation(
            text="",
            tokens=tuple(self.ids[self.prompt_tokens :].tolist()),
            prompt_tokens=self.prompt_tokens,
            finished=self.finished,
            prefill_s=prefill_s,
            decode_s=sum(r.seconds for r in rounds),
            rounds=tuple(rounds),
        )
