"""llama.cpp's `timings`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from specfrontier.errors import InputError
from specfrontier.simulate.importers.fields import count_of, record_of
from specfrontier.simulate.importers.report import AcceptanceReport

__all__ = ["from_llama_cpp_responses"]


def from_llama_cpp_responses(responses: Iterable[dict[str, Any]]) -> AcceptanceReport:
    """From responses of llama-server (or bare `timings` objects); those without drafts are passed over.

    Seen (tools/server/server-context.cpp): timings.predicted_n (output tokens), draft_n (proposed) and draft_n_accepted
    (kept, bonus excluded); the last two appear only when something was drafted. The first output token is sampled from
    the prompt's logits, before any draft; each later step emits its accepted tokens and one more, so that
    steps = predicted_n - 1 - draft_n_accepted. Totals only, so the report has one rate for all positions.

    Steps without a draft are among them, which lowers the mean draft length: the last step before a limit is one, since
    drafts are kept shorter than what the limit leaves, and so is the second pass of a step whose cache could not be
    rolled back (whose correction token releases before August 2026 count as accepted). A limit thus cuts no step, but
    an end token or a stop string may: draft_n_accepted holds what it cuts and predicted_n does not, so steps read too
    few by that much, and are taken to be one at least.

    Raises:
        InputError: if there is none, or one drafted although its output has no token that a draft could precede.
    """
    return AcceptanceReport.pooled(_request(t) for t in map(_timings, responses) if t.get("draft_n"))


def _timings(response: dict[str, Any]) -> dict[str, Any]:
    found = record_of("llama.cpp", response).get("timings", response)
    return found if isinstance(found, dict) else {}


def _request(timings: dict[str, Any]) -> AcceptanceReport:
    predicted = count_of("llama.cpp", timings, "predicted_n")
    drafted, accepted = count_of("llama.cpp", timings, "draft_n"), count_of("llama.cpp", timings, "draft_n_accepted")
    if predicted < 2:
        raise InputError(
            f"llama.cpp reports {drafted} drafted tokens in an output of {predicted}; drafts start at the second token"
        )
    return AcceptanceReport("llama.cpp", max(predicted - 1 - accepted, 1), drafted, accepted)
