"""SGLang's `meta_info`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from specfrontier.errors import InputError
from specfrontier.simulate.importers.fields import check_identity, count_of, histogram_of, record_of
from specfrontier.simulate.importers.report import ENOUGH_VISITS, AcceptanceReport, report_from_histogram

__all__ = ["from_sglang_responses"]

_ACCEPTED = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
_DRAFTED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")


def from_sglang_responses(responses: Iterable[dict[str, Any]], depth: int | None = None) -> AcceptanceReport:
    """From responses of ``/generate`` (or bare `meta_info` objects); those without speculation are passed over.

    Seen, in three generations of names for the same figures: spec_verify_ct (verify steps); spec_num_correct_drafts,
    earlier spec_accepted_drafts, earlier spec_accept_token_num (bonus excluded); spec_num_proposed_drafts, earlier
    spec_proposed_drafts, earlier spec_draft_token_num (steps times draft tokens less the root); spec_accept_rate (their
    ratio); spec_accept_length (completion tokens a step, bonus included); spec_correct_drafts_histogram, earlier
    spec_accept_histogram (dense, index = accepted draft tokens, trailing empty bins left out). Not checked:
    spec_accept_length against 1 + accepted / steps, because completion tokens include the prefill's first and leave
    out what a stop cut off.

    Assumed: drafts are chains (speculative_eagle_topk = 1), unless `depth` is given. Of a tree, proposed tokens are all
    nodes, more than any path has; the report then counts the positions of a path, and a rate is that of some branch
    being accepted at that depth, which leniency shifts otherwise than a chain's.

    Args:
        responses: whole responses, or just their ``meta_info`` objects.
        depth: speculative_num_steps of the server, beyond which a tree has no positions.

    Raises:
        InputError: if there is none, or one contradicts itself, or drafts are seen to be trees and `depth` is not given
            (100 rounds or more reached a position, at which no draft was ever accepted).
    """
    if depth is not None and depth < 1:
        raise InputError(f"depth is {depth}; give the server's speculative_num_steps, an integer >= 1")
    found = (meta for meta in map(_meta, responses) if meta.get("spec_verify_ct"))
    report = AcceptanceReport.pooled(_request(meta, depth) for meta in found)
    if depth is None:
        _check_chains(report)
    return report


def _meta(response: dict[str, Any]) -> dict[str, Any]:
    found = record_of("sglang", response).get("meta_info", response)
    return found if isinstance(found, dict) else {}


def _request(meta: dict[str, Any], depth: int | None) -> AcceptanceReport:
    rounds = count_of("sglang", meta, "spec_verify_ct")
    accepted, drafted = count_of("sglang", meta, *_ACCEPTED), count_of("sglang", meta, *_DRAFTED)
    rate = meta.get("spec_accept_rate")
    if rate is not None and drafted:
        check_identity("sglang", "accept rate", rate, "accepted / proposed", accepted / drafted, 1e-6)
    if depth is not None:
        drafted = min(drafted, rounds * depth)
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


def _check_chains(report: AcceptanceReport) -> None:
    """InputError if drafts end before the tokens that they count do."""
    counts = zip(report.kept or (), report.visited or (), strict=True)
    for accepted, (kept, visited) in enumerate(counts):
        if accepted and kept == 0 and visited >= ENOUGH_VISITS:
            raise InputError(
                f"sglang accepted {accepted} draft tokens in {visited} steps and never more, of "
                f"{report.draft_length:g} proposed; if drafts are trees (topk > 1), give depth, the server's "
                f"speculative_num_steps (for chains, depth={round(report.draft_length)} keeps all positions)"
            )
