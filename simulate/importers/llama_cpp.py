"""llama.cpp's `timings`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from specfrontier.errors import InputError
from specfrontier.simulate.importers.report import AcceptanceReport, count_of, record_of

__all__ = ["from_llama_cpp_responses"]


def from_llama_cpp_responses(responses: Iterable[dict[str, Any]]) -> AcceptanceReport:
    """From responses of llama-server (or bare `timings` objects); those without drafts are passed over.

    Seen: timings.predicted_n (output tokens), draft_n (proposed) and draft_n_accepted (kept, bonus excluded); the last
    two appear only when something was drafted. Totals only, so the report has one rate for all positions. Assumed: a
    decode step emits its accepted tokens and one more, so steps = predicted_n - draft_n_accepted. Steps without a draft
    are among them, which lowers the mean draft length.

    Raises:
        InputError: if there is none, or one contradicts itself.
    """
    return AcceptanceReport.pooled(_request(t) for t in map(_timings, responses) if t.get("draft_n"))


def _timings(response: dict[str, Any]) -> dict[str, Any]:
    found = record_of("llama.cpp", response).get("timings", response)
    return found if isinstance(found, dict) else {}


def _request(timings: dict[str, Any]) -> AcceptanceReport:
    predicted = count_of("llama.cpp", timings, "predicted_n")
    accepted = count_of("llama.cpp", timings, "draft_n_accepted")
    if predicted <= accepted:
        raise InputError(
            f"llama.cpp reports {accepted} accepted draft tokens in an output of {predicted}; each step emits one more"
        )
    return AcceptanceReport("llama.cpp", predicted - accepted, count_of("llama.cpp", timings, "draft_n"), accepted)
