"""vLLM: per-request acceptance in its responses, and its Prometheus counters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from specfrontier.errors import InputError
from specfrontier.simulate.importers.report import (
    AcceptanceReport,
    check_identity,
    count_of,
    record_of,
    report_from_histogram,
    report_from_steps,
)

__all__ = ["from_vllm_counters", "from_vllm_responses", "histogram_of", "request_report"]

_COUNTERS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
_SAMPLE = re.compile(
    r"^vllm:spec_decode_(\w+?)(?:_total)?(?:\{([^}]*)\})?\s+(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*$", re.MULTILINE
)


def from_vllm_responses(responses: Iterable[dict[str, Any]]) -> AcceptanceReport:
    """From responses of a server run with ``--per-request-spec-decode-metrics summary`` or ``detailed``.

    Seen (vLLM's acceptance_metrics.md, 0.29): ``metrics.speculative_decoding`` at the response's root with
    mean_acceptance_length (bonus included), acceptance_histogram (a dense list, index = accepted draft tokens, bonus
    excluded), num_spec_steps, num_accepted_draft_tokens, num_draft_tokens (less what grammars invalidated),
    num_spec_tokens, and per_step_accepted / per_step_drafted when detailed; null for n > 1. A sparse histogram
    ({"0": 3}) is taken too, as AIPerf writes it. Assumed: without per-step lists, all steps drafted num_spec_tokens
    if the totals say so, else draft lengths varied.

    Args:
        responses: whole responses, or just their ``speculative_decoding`` objects; those without one are passed over.

    Raises:
        InputError: if none has one, or one contradicts itself.
    """
    return AcceptanceReport.pooled(request_report("vllm", r) for r in map(_payload, responses) if r)


def from_vllm_counters(after: str, before: str | None = None) -> AcceptanceReport:
    """From the text of ``/metrics``: counters are cumulative, so give the text from before the run as well.

    Seen: vllm:spec_decode_num_drafts, _num_draft_tokens, _num_accepted_tokens and
    _num_accepted_tokens_per_pos{position="0", ...} (0 is the first draft token; counts of rounds that accepted that
    position), each with or without ``_total``, one sample an engine. Assumed: every draft has all positions; where
    num_draft_tokens is less than num_drafts times their number, some drafts were shorter and rates of later positions
    are lower bounds.

    Raises:
        InputError: if a counter is missing, runs backwards, or contradicts the others.
    """
    totals, by_position = _counters(after)
    if before is not None:
        earlier, earlier_by_position = _counters(before)
        totals = {name: value - earlier.get(name, 0.0) for name, value in totals.items()}
        by_position = {k: value - earlier_by_position.get(k, 0.0) for k, value in by_position.items()}
    missing = [name for name in _COUNTERS if name not in totals]
    if missing:
        raise InputError(f"the metrics lack vllm:spec_decode_{missing[0]}; is the server speculating?")
    if min(*totals.values(), *by_position.values(), 0.0) < 0:
        raise InputError("vllm counters run backwards; give the texts in order, from one run of the server")
    rounds, drafted, accepted = (int(totals[name]) for name in _COUNTERS)
    if not by_position:
        return AcceptanceReport("vllm", rounds, drafted, accepted)
    kept = tuple(int(by_position.get(k, 0)) for k in range(max(by_position) + 1))
    if any(later > earlier for earlier, later in zip((rounds, *kept), kept, strict=False)):
        raise InputError(f"vllm accepted positions {kept} more often than what precedes them (of {rounds} drafts)")
    return AcceptanceReport("vllm", rounds, drafted, accepted, (rounds, *kept[:-1]), kept)


def histogram_of(engine: str, raw: Any) -> dict[int, int]:
    """A dense list or a sparse mapping as {accepted length: rounds}, without empty bins."""
    items = enumerate(raw) if isinstance(raw, list) else raw.items() if isinstance(raw, dict) else None
    if items is None:
        raise InputError(f"{engine} acceptance histogram is {raw!r}; expected a list or a mapping of counts")
    try:
        histogram = {int(length): int(count) for length, count in items}
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{engine} acceptance histogram holds {error}; expected counts") from error
    if any(length < 0 or count < 0 for length, count in histogram.items()):
        raise InputError(f"{engine} acceptance histogram {raw!r} holds negative entries")
    return {length: count for length, count in histogram.items() if count}


def _payload(response: dict[str, Any]) -> dict[str, Any] | None:
    response = record_of("vllm", response)
    if "acceptance_histogram" in response:
        return response
    return record_of("vllm", response.get("metrics") or {}).get("speculative_decoding")


def request_report(engine: str, record: dict[str, Any]) -> AcceptanceReport:
    """One request in vLLM's field names, which AIPerf's record shares."""
    rounds = count_of(engine, record_of(engine, record), "num_spec_steps")
    drafted = count_of(engine, record, "num_draft_tokens")
    accepted = count_of(engine, record, "num_accepted_draft_tokens")
    histogram = histogram_of(engine, record.get("acceptance_histogram"))
    block_size = record.get("num_spec_tokens")
    fixed = block_size is not None and drafted == rounds * block_size
    report = report_from_histogram(
        engine,
        histogram,
        drafted=drafted,
        accepted=accepted,
        rounds=rounds,
        block_size=int(block_size) if fixed and block_size is not None else None,
    )
    length = record.get("mean_acceptance_length")
    if length is not None:
        check_identity(engine, "mean tokens a step", length, "1 + accepted / steps", report.tokens_per_round, 1e-6)
    steps, proposed = record.get("per_step_accepted"), record.get("per_step_drafted")
    if steps is None or proposed is None:
        return report
    exact = report_from_steps(engine, steps, proposed)
    check_identity(engine, "accepted tokens by step", exact.accepted, "accepted tokens", accepted)
    check_identity(engine, "drafted tokens by step", exact.drafted, "drafted tokens", drafted)
    check_identity(engine, "steps listed", exact.rounds, "verify steps", rounds)
    return exact


def _counters(text: str) -> tuple[dict[str, float], dict[int, float]]:
    totals: dict[str, float] = {}
    by_position: dict[int, float] = {}
    for name, labels, value in _SAMPLE.findall(text):
        if name == "num_accepted_tokens_per_pos":
            position = re.search(r'position="(\d+)"', labels)
            if position:
                by_position[int(position[1])] = by_position.get(int(position[1]), 0.0) + float(value)
        elif name in _COUNTERS:
            totals[name] = totals.get(name, 0.0) + float(value)
    return totals, by_position
