"""vLLM: per-request acceptance in its responses, and its Prometheus counters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from specfrontier.errors import InputError
from specfrontier.simulate.importers.fields import check_identity, count_of, histogram_of, record_of
from specfrontier.simulate.importers.report import AcceptanceReport, report_from_histogram, report_from_steps

__all__ = ["from_vllm_counters", "from_vllm_responses", "pooled_requests"]

_COUNTERS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
_SAMPLE = re.compile(
    r"^vllm:spec_decode_(\w+?)(?:_total)?(?:\{([^}]*)\})?\s+(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*$", re.MULTILINE
)


def from_vllm_responses(responses: Iterable[dict[str, Any]]) -> AcceptanceReport:
    """From responses of a server run with ``--per-request-spec-decode-metrics summary`` or ``detailed``.

    Seen (vLLM's acceptance_metrics.md): ``metrics.speculative_decoding`` at the response's root with
    mean_acceptance_length (bonus included), acceptance_histogram (a dense list, index = accepted draft tokens, bonus
    excluded), acceptance_histogram_by_draft_length (such a list for every proposed length, {"3": [39, 1, 0, 3]}; not
    in the first releases), num_spec_steps, num_accepted_draft_tokens, num_draft_tokens (less what grammars
    invalidated), num_spec_tokens, and per_step_accepted / per_step_drafted when detailed; null for n > 1; all zero if
    the request drafted nothing. A sparse histogram ({"0": 3}) is taken too, as AIPerf writes it. Assumed: where
    neither histograms by draft length nor per-step lists tell draft lengths, all steps drafted num_spec_tokens if the
    totals say so, else draft lengths varied.

    Args:
        responses: whole responses, or just their ``speculative_decoding`` objects; those without one, or without a
            verify step in it, are passed over.

    Raises:
        InputError: if none has one in which anything was drafted, or one contradicts itself.
    """
    return pooled_requests(("vllm", r) for r in map(_payload, responses) if r)


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


def _payload(response: dict[str, Any]) -> dict[str, Any] | None:
    response = record_of("vllm", response)
    if "acceptance_histogram" in response:
        return response
    return record_of("vllm", response.get("metrics") or {}).get("speculative_decoding")


def pooled_requests(records: Iterable[tuple[str, dict[str, Any]]]) -> AcceptanceReport:
    """Requests in vLLM's field names, which AIPerf's records share, each with its engine.

    Those without a verify step say nothing and are passed over.
    """
    checked = ((engine, record_of(engine, record)) for engine, record in records)
    return AcceptanceReport.pooled(_request(*record) for record in checked if _has_steps(*record))


def _has_steps(engine: str, record: dict[str, Any]) -> bool:
    names = ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
    counts = [count_of(engine, record, name) for name in names]
    return any(counts) or bool(histogram_of(engine, record.get("acceptance_histogram")))


def _request(engine: str, record: dict[str, Any]) -> AcceptanceReport:
    rounds = count_of(engine, record, "num_spec_steps")
    drafted = count_of(engine, record, "num_draft_tokens")
    block_size = record.get("num_spec_tokens")
    fixed = block_size is not None and drafted == rounds * block_size
    report = report_from_histogram(
        engine,
        histogram_of(engine, record.get("acceptance_histogram")),
        drafted=drafted,
        accepted=count_of(engine, record, "num_accepted_draft_tokens"),
        rounds=rounds,
        block_size=int(block_size) if fixed and block_size is not None else None,
    )
    length = record.get("mean_acceptance_length")
    if length is not None:
        check_identity(engine, "mean tokens a step", length, "1 + accepted / steps", report.tokens_per_round, 1e-6)
    for exact in _exact(engine, record):
        _check_same_rounds(exact, report)
        report = exact
    return report


def _exact(engine: str, record: dict[str, Any]) -> Iterator[AcceptanceReport]:
    """What the record says by draft length and by step, if it does."""
    by_length = record.get("acceptance_histogram_by_draft_length")
    if by_length is not None:
        rows = _by_draft_length(engine, by_length)
        yield report_from_steps(engine, *([row[column] for row in rows] for column in range(3)))
    steps, proposed = record.get("per_step_accepted"), record.get("per_step_drafted")
    if steps is not None and proposed is not None:
        yield report_from_steps(engine, steps, proposed)


def _by_draft_length(engine: str, raw: Any) -> list[tuple[int, int, int]]:
    """(accepted, drafted, rounds) of every bin; JSON makes strings of the draft lengths."""
    try:
        histograms = {int(drafted): histogram_of(engine, row) for drafted, row in raw.items()}
    except (AttributeError, ValueError) as error:
        raise InputError(f"{engine} histograms by draft length are {raw!r:.60}; expected a list for each") from error
    return [(accepted, drafted, rounds) for drafted, row in histograms.items() for accepted, rounds in row.items()]


def _check_same_rounds(exact: AcceptanceReport, report: AcceptanceReport) -> None:
    """InputError if what is listed in detail differs from the record's totals or histogram."""
    check_identity(exact.engine, "steps listed", exact.rounds, "verify steps", report.rounds)
    check_identity(exact.engine, "drafted tokens listed", exact.drafted, "drafted tokens", report.drafted)
    survival = zip_longest(exact.kept or (), report.kept or (), fillvalue=0)
    for position, (listed, counted) in enumerate(survival, start=1):
        name = f"steps that accepted position {position}"
        check_identity(exact.engine, f"{name}, as listed,", listed, f"{name} in the histogram", counted)


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
