"""AIPerf's engine-neutral acceptance records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from specfrontier.errors import InputError
from specfrontier.simulate.importers.fields import histogram_of, record_of
from specfrontier.simulate.importers.report import AcceptanceReport, report_from_histogram
from specfrontier.simulate.importers.vllm import pooled_requests

__all__ = ["from_aiperf_export", "from_aiperf_records"]


def from_aiperf_records(records: Iterable[dict[str, Any]]) -> AcceptanceReport:
    """From per-request records.

    Seen (AIPerf's SpecDecodeAcceptanceRecord and its page): engine, mean_acceptance_length (bonus included),
    acceptance_histogram (sparse, integer keys, which JSON makes strings; bonus excluded), num_accepted_draft_tokens,
    num_draft_tokens, num_spec_steps, num_spec_tokens (null if lengths vary), per_step_accepted and per_step_drafted
    (null if not reported). Requests without a verify step, which AIPerf reports as they are, are passed over. Assumed:
    a record may stand alone or under ``spec_decode_acceptance`` of a request; drafts are chains (AIPerf does not tell
    trees apart).

    Raises:
        InputError: if there is none in which anything was drafted, or one contradicts itself.
    """
    found = (record_of("aiperf", record).get("spec_decode_acceptance", record) for record in records)
    own = (record_of("aiperf", record) for record in found if record)
    return pooled_requests((f"aiperf/{r.get('engine', 'unknown')}", r) for r in own)


def from_aiperf_export(export: dict[str, Any], block_size: int) -> AcceptanceReport:
    """From the run's aggregate JSON, whose pooled histogram is all that it says of acceptance lengths.

    Seen: ``pooled_spec_decode_acceptance_histogram`` {"0": 2, ...}, rounds by accepted draft tokens over the run.

    Args:
        export: the parsed ``profile_export_aiperf.json``.
        block_size: draft tokens of every step, which the export does not hold.
    """
    if block_size < 1:
        raise InputError(f"block_size is {block_size}; give the draft tokens of a step, an integer >= 1")
    raw = record_of("aiperf", export).get("pooled_spec_decode_acceptance_histogram")
    if not raw:
        raise InputError(
            "the AIPerf export has no pooled_spec_decode_acceptance_histogram; was the engine speculating?"
        )
    histogram = histogram_of("aiperf", raw)
    rounds = sum(histogram.values())
    accepted = sum(length * count for length, count in histogram.items())
    return report_from_histogram(
        "aiperf", histogram, drafted=rounds * block_size, accepted=accepted, rounds=rounds, block_size=block_size
    )
