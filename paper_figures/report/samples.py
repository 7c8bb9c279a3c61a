"""Sample generations, token by token: which ones the drafter's proposals survived, which ones the verifier put in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from specfrontier.errors import InputError
from specfrontier.paper_figures.frontier_plot import THROUGHPUT, frontier_mask
from specfrontier.paper_figures.report.html import Html, element
from specfrontier.paper_figures.report.words import number, setting

Tokenize = Callable[[str], list[str]]
Kind = Literal["accepted", "corrected", "bonus"]

_CONFIGURATIONS = 4
_PROBLEMS = 2


@dataclass(frozen=True)
class Piece:
    """One output token: its text, where it came from, and whether it is the first of its round."""

    text: str
    kind: Kind
    first: bool


def token_pieces(text: str, rounds: pd.DataFrame, finished: bool, tokenize: Tokenize) -> list[Piece] | None:
    """Mark every token of an output as accepted, correction or bonus.

    Args:
        text: the output, without its end token.
        rounds: of this output, in order: columns accepted, emitted, verified.
        finished: whether an end token, which the text does not hold, was the last one emitted.
        tokenize: cuts text into its tokens' own texts, which put together are the text.

    Returns:
        None if the text's tokens are not as many as the rounds emitted, so that nothing can be said of them.
    """
    texts = tokenize(text)
    marks = [mark for row in rounds.itertuples() for mark in _round_marks(row.accepted, row.emitted, row.verified)]
    if len(texts) != len(marks) - int(finished):
        return None
    return [Piece(token, kind, first) for token, (kind, first) in zip(texts, marks, strict=False)]


def pair_tokenizer(pair: str) -> Tokenize | None:
    """The tokenizer of a pair's verifier, or None where it cannot be loaded."""
    from specfrontier.decoding.checkpoints import checkpoint_folder  # here: these import torch
    from specfrontier.decoding.loading import load_tokenizer
    from specfrontier.decoding.pair_file import read_pair_file

    try:
        verifier = read_pair_file(pair).verifier
        tokenizer = load_tokenizer(checkpoint_folder(verifier.checkpoint, verifier.revision))
    except InputError:
        return None

    def tokenize(text: str) -> list[str]:
        spans = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        ends = [0, *(end for _, end in spans)]
        return [text[a:b] for a, b in zip(ends[:-1], [*ends[1:-1], len(text)], strict=True)]

    return tokenize


def samples_section(rows: pd.DataFrame, problems: pd.DataFrame, rounds: pd.DataFrame, tokenize: Tokenize) -> Html:
    """Outputs of the same problems at settings along the throughput frontier.

    Args:
        rows: speculative measurements of one pair and task.
        problems, rounds: tables of the run.
        tokenize: see `token_pieces`.
    """
    settings = _spread(rows[frontier_mask(rows, THROUGHPUT)].sort_values("throughput"), _CONFIGURATIONS)
    outputs = problems[problems["config"].isin(settings["config"])]
    shared = outputs.groupby("problem")["config"].nunique()
    names = sorted(shared[shared == shared.max()].index, key=str)[:_PROBLEMS] if len(shared) else []
    blocks: list[Html] = []
    for name in names:
        blocks.append(element("h4", f"Problem {name}"))
        for _, row in settings.iterrows():
            mine = outputs[(outputs["config"] == row["config"]) & (outputs["problem"] == name)]
            if len(mine):
                blocks.append(_sample(row, mine.iloc[0], rounds, tokenize))
    if not blocks:
        return element("p", "The run holds no outputs.", class_="muted")
    return element("div", _key(), *blocks)


def _sample(row: pd.Series, output: pd.Series, rounds: pd.DataFrame, tokenize: Tokenize) -> Html:
    mine = rounds[(rounds["config"] == row["config"]) & (rounds["problem"] == output["problem"])].sort_values("round")
    pieces = token_pieces(output["text"], mine, bool(output["finished"]), tokenize)
    verdict = "not scored" if pd.isna(output["correct"]) else "right" if output["correct"] else "wrong"
    speed = f"{number(output['output_tokens'] / max(1, output['rounds']))} tokens a round"
    title = element("p", element("b", setting(row)), f" · {speed} · ", element("span", verdict, class_=verdict))
    if pieces is None:
        note = element("span", " (its tokens cannot be told apart from the text alone)", class_="muted")
        return element("article", title, element("pre", output["text"], note), class_="sample")
    return element("article", title, element("pre", *(_span(piece) for piece in pieces)), class_="sample")


def _span(piece: Piece) -> Html:
    return element("span", piece.text, class_=f"{piece.kind} first" if piece.first else piece.kind)


def _key() -> Html:
    return element(
        "p",
        element("span", "accepted", class_="accepted"),
        " drafted and kept · ",
        element("span", "corrected", class_="corrected"),
        " put in place of a rejected token · ",
        element("span", "bonus", class_="bonus"),
        " the verifier's own, after a block kept whole · a bar opens each round",
        class_="key",
    )


def _round_marks(accepted: int, emitted: int, verified: int) -> list[tuple[Kind, bool]]:
    last: Kind = "bonus" if accepted >= verified else "corrected"
    kinds: list[Kind] = [*["accepted"] * int(accepted), last]  # type: ignore[list-item]
    return [(kind, i == 0) for i, kind in enumerate(kinds[: int(emitted)])]


def _spread(rows: pd.DataFrame, count: int) -> pd.DataFrame:
    """At most `count` rows, the first and the last among them, evenly between."""
    if len(rows) <= count:
        return rows
    last = len(rows) - 1
    return rows.iloc[[round(i * last / (count - 1)) for i in range(count)]]


def outputs_of(pairs: Sequence[str], tokenize: Tokenize | None) -> dict[str, Tokenize]:
    """A tokenizer for each pair: the one given, else the pair's own, else one that knows no token."""
    return {pair: tokenize or pair_tokenizer(pair) or (lambda text: []) for pair in pairs}
