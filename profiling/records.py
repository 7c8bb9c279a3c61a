"""From a generation to its rows in the problems and rounds tables."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from specfrontier.decoding import Generation, Round


@dataclass(frozen=True)
class ProblemRecord:
    """A finished problem: its row of the problems table, and its rows of the rounds table."""

    problem: dict[str, Any]
    rounds: list[dict[str, Any]]


def problem_record(
    config: str,
    problem: str,
    generation: Generation,
    correct: bool | None,
    log_likelihood: float | None = None,
) -> ProblemRecord:
    """The rows of one generation of configuration `config` on `problem`."""
    agreement, kl = _over_visited(generation.rounds)
    row = {
        "config": config,
        "problem": problem,
        "prompt_tokens": generation.prompt_tokens,
        "output_tokens": len(generation.tokens),
        "rounds": len(generation.rounds),
        "accepted": sum(r.accepted for r in generation.rounds),
        "visited": sum(visited(r) for r in generation.rounds),
        "finished": generation.finished,
        "correct": correct,
        "agreement": agreement,
        "kl": kl,
        "log_likelihood": log_likelihood,
        "prefill_s": generation.prefill_s,
        "decode_s": generation.decode_s,
        "text": generation.text,
    }
    return ProblemRecord(row, [round_row(r) for r in generation.rounds])


def visited(record: Round) -> int:
    """Positions of a round that were accepted or are its first rejection."""
    return min(record.accepted + 1, record.verified)


def round_row(record: Round) -> dict[str, Any]:
    """A round's row, without the keys of its problem; the laws of its positions are null if they were not traced."""
    row = asdict(record)
    trace = row.pop("trace") or {}
    row["round"] = row.pop("index")
    return {**row, **{name: list(values) for name, values in trace.items()}}


def _over_visited(rounds: tuple[Round, ...]) -> tuple[float | None, float | None]:
    """Mean of 1 - TV(output law, p) and sum of KL(output law || p) over visited positions; None if not traced."""
    traced = [(visited(r), r.trace) for r in rounds if r.trace is not None]
    count = sum(n for n, _ in traced)
    if not count:
        return None, None
    deviation = math.fsum(x for n, trace in traced for x in trace.deviation[:n])
    kl = math.fsum(x for n, trace in traced for x in trace.kl[:n])
    return 1 - deviation / count, kl
