"""TensorRT-LLM's iteration statistics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from specfrontier.simulate.importers.fields import check_identity, count_of, record_of
from specfrontier.simulate.importers.report import AcceptanceReport

__all__ = ["from_tensorrt_llm_stats"]


def from_tensorrt_llm_stats(iterations: Iterable[dict[str, Any]]) -> AcceptanceReport:
    """From the list that ``llm.get_stats()`` or ``/metrics`` returns; iterations without drafts are passed over.

    Seen: specDecodingStats of an iteration with numDraftTokens, numAcceptedTokens (both over the batch),
    numRequestsWithDraftTokens and acceptanceLength ("average number of tokens produced per step for all requests with
    at least one draft token"), whose own regression tests use (accepted + requests) / requests. Totals only, so the
    report has one rate for all positions. Assumed: one verify step a request and iteration.

    Raises:
        InputError: if there is none, or one contradicts itself.
    """
    found = (record_of("tensorrt-llm", stats).get("specDecodingStats", stats) or {} for stats in iterations)
    return AcceptanceReport.pooled(_iteration(s) for s in found if record_of("tensorrt-llm", s).get("numDraftTokens"))


def _iteration(stats: dict[str, Any]) -> AcceptanceReport:
    report = AcceptanceReport(
        "tensorrt-llm",
        count_of("tensorrt-llm", stats, "numRequestsWithDraftTokens"),
        count_of("tensorrt-llm", stats, "numDraftTokens"),
        count_of("tensorrt-llm", stats, "numAcceptedTokens"),
    )
    length = stats.get("acceptanceLength")
    if length:
        check_identity(
            "tensorrt-llm", "acceptance length", length, "1 + accepted / requests", report.tokens_per_round, 1e-3
        )
    return report
