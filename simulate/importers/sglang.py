"""SGLang's `meta_info`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from specfrontier.simulate.importers.report import (
    AcceptanceReport,
    check_identity,
    count_of,
    record_of,
    report_from_histogram,
)
from specfrontier.simulate.importers.vllm import histogram_of

__all__ = ["from_sglang_responses"]

_ACCEPTED = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
_DRAFTED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")


def from_sglang_responses(responses: Iterable[dict[str, Any]]) -> AcceptanceReport:
    """From responses of ``/generate`` (or bare `meta_info` objects); those without speculation are passed over.

    Seen, in three generations of names for the same figures: spec_verify_ct (verify steps); spec_num_correct_drafts,
    earlier spec_accepted_drafts, earlier spec_accept_token_num (bonus excluded); spec_num_proposed_drafts, earlier
    spec_proposed_drafts, earlier spec_draft_token_num (steps times draft tokens less the root); spec_accept_rate (their
    ratio); spec_accept_length (completion tokens a step, bonus included); spec_correct_drafts_histogram, earlier
    spec_accept_histogram (dense, index = accepted draft tokens, trailing empty bins left out). Not checked:
    spec_accept_length against 1 + accepted / steps, because completion tokens include the prefill's first and leave
    out what a stop cut off.

    Raises:
        InputError: if there is none, or one contradicts itself.
    """
    return AcceptanceReport.pooled(_request(m) for m in map(_meta, responses) if m.get("spec_verify_ct"))


def _meta(response: dict[str, Any]) -> dict[str, Any]:
    found = record_of("sglang", response).get("meta_info", response)
    return found if isinstance(found, dict) else {}


def _request(meta: dict[str, Any]) -> AcceptanceReport:
    rounds = count_of("sglang", meta, "spec_verify_ct")
    accepted, drafted = count_of("sglang", meta, *_ACCEPTED), count_of("sglang", meta, *_DRAFTED)
    rate = meta.get("spec_accept_rate")
    if rate is not None and drafted:
        check_identity("sglang", "accept rate", rate, "accepted / proposed", accepted / drafted, 1e-6)
    raw = meta.get("spec_correct_drafts_histogram") or meta.get("spec_accept_histogram")
    if not raw:
        return AcceptanceReport("sglang", rounds, drafted, accepted)
    size, rest = divmod(drafted, rounds)
    return report_from_histogram(
        "sglang",
        histogram_of("sglang", raw),
        drafted=drafted,
        accepted=accepted,
        rounds=rounds,
        block_size=size if rest == 0 else None,
    )
