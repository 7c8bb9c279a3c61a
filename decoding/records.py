"""What a generation leaves behind: its text, its time, and one record a round."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PositionTrace:
    """Laws of a round compared position by position; entry k - 1 is position k of the block.

    Attributes:
        tv: TV(p_k, q_k) before any leniency, at every drafted position, on the draft's own prefix.
        p_y, q_y: probabilities of the drafted token under verifier and drafter.
        acceptance: acceptance rate of the rule, the expectation of being kept given that k is reached.
        deviation: TV(output law, p_k) of the rule.
        kl: KL(output law || p_k) of the rule, in nats.
        steps: denoising step at which the position was fixed.
    """

    tv: tuple[float, ...]
    p_y: tuple[float, ...]
    q_y: tuple[float, ...]
    acceptance: tuple[float, ...]
    deviation: tuple[float, ...]
    kl: tuple[float, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Round:
    """One draft-and-verify round.

    Attributes:
        index: 0, 1, ...
        context: tokens before the block, prompt included.
        requested: block size B asked of the drafter.
        drafted: positions up to a drafted end token, that one included; what follows it does not exist.
        verified: how many of them were verified, after the cut at an order violation.
        accepted: how many of them were kept; positions visited are min(accepted + 1, verified).
        emitted: tokens that this round added to the output: accepted ones and the correction or bonus token,
            less what an end token or the token limit cut off.
        forwards: drafter forwards run.
        draft_s, verify_s, accept_s: seconds for the draft, for the verifier's forward, for the rest.
        trace: per-position laws, if asked for.
    """

    index: int
    context: int
    requested: int
    drafted: int
    verified: int
    accepted: int
    emitted: int
    forwards: int
    draft_s: float
    verify_s: float
    accept_s: float
    trace: PositionTrace | None = None

    @property
    def seconds(self) -> float:
        """Wall time of the round."""
        return self.draft_s + self.verify_s + self.accept_s


@dataclass(frozen=True)
class Generation:
    """One prompt's output.

    Attributes:
        text: decoded output, without the end token.
        tokens: output token ids, the end token included if one was emitted.
        prompt_tokens: length of the prompt.
        finished: whether an end token was emitted (otherwise the token limit stopped it).
        prefill_s: seconds for the verifier's forward over the prompt; not part of `decode_s`.
        decode_s: seconds of all rounds; what is done between them (records, traces) does not count.
        rounds: one record a round.
    """

    text: str
    tokens: tuple[int, ...]
    prompt_tokens: int
    finished: bool
    prefill_s: float
    decode_s: float
    rounds: tuple[Round, ...]

    @property
    def throughput(self) -> float:
        """Output tokens a second, prefill apart."""
        return len(self.tokens) / self.decode_s
