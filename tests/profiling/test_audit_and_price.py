"""The exactness audit of stored rounds, and the price of rules on a pair's own laws."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

from specfrontier.decoding import Effort, Pair, Settings, load_pair
from specfrontier.decoding.laws import VisitedLaws, visited_laws
from specfrontier.errors import InputError
from specfrontier.profiling.audit import audit_rounds
from specfrontier.profiling.cli import app
from specfrontier.profiling.load_options import LoadOptions
from specfrontier.profiling.price import default_specs, price_table
from specfrontier.theory.divergences import tv_distance


def rounds(*rows: tuple[str, list[int] | None, int, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["problem", "steps", "accepted", "emitted"])


def test_an_audit_counts_blocks_positions_and_rounds_that_reached_a_violation() -> None:
    """Steps 2, 1: position 2 was fixed first, so position 2 is the first violation, with one exact position before."""
    found = audit_rounds(
        rounds(
            ("a", [1, 1, 2, 2], 4, 5),  # exact
            ("a", [2, 1, 1, 2], 0, 1),  # violated at 2, rejected at 1: no harm
            ("b", [2, 1, 1, 2], 1, 2),  # violated at 2, reached
            ("b", [1, 2, 1, 2], 3, 4),  # violated at 3, reached
        )
    )
    assert found is not None
    assert (found.rounds, found.exact_blocks) == (4, 0.25)
    assert found.first_violation == pytest.approx((2 + 2 + 3) / 3)
    assert found.exact_positions == pytest.approx((4 + 1 + 1 + 2) / 16)
    assert found.past_violation == pytest.approx(2 / 4)
    assert found.tokens_per_round == pytest.approx(12 / 4)


def test_rounds_without_a_trace_cannot_be_audited() -> None:
    assert audit_rounds(rounds(("a", None, 1, 2))) is None


def test_one_step_drafts_violate_nothing() -> None:
    found = audit_rounds(rounds(("a", [1, 1, 1], 2, 3), ("b", [1, 1, 1], 0, 1)))
    assert found is not None
    assert (found.exact_blocks, found.exact_positions, found.past_violation) == (1.0, 1.0, 0.0)
    assert np.isnan(found.first_violation)


@pytest.fixture(scope="module")
def pair() -> Pair:
    return load_pair("arith-masked", device="cpu")


def test_visited_laws_are_those_of_the_trace(pair: Pair) -> None:
    """TV between the recorded rows equals the trace's, position by position."""
    prompt = "Tom has 3 apples and buys 4 more. How many apples does Tom have?"
    settings = Settings(Effort(2), block_size=8, max_new_tokens=24, seed=4, trace=True)
    laws = visited_laws(pair, [prompt], settings)
    out = pair.run(prompt, settings)
    expected = [x for r in out.rounds if r.trace is not None for x in r.trace.tv[: min(r.accepted + 1, r.verified)]]
    found = tv_distance(laws.p, laws.q)
    torch.testing.assert_close(found[: len(expected)], torch.tensor(expected), rtol=1e-4, atol=1e-5)
    assert laws.position.min() == 1


def test_prices_keep_below_the_bound_and_lossless_is_free() -> None:
    generator = torch.Generator().manual_seed(0)
    p, q = (torch.randn(40, 30, generator=generator).mul(2).softmax(-1) for _ in range(2))
    laws = VisitedLaws(p, q, torch.ones(40, dtype=torch.long), torch.arange(40) // 10)
    table = price_table(laws, default_specs()).set_index("rule")
    assert (table["acceptance_rate"] <= table["bound"] + 1e-9).all()
    assert table.loc["lossless", ["tv", "kl", "chi2"]].abs().max() < 1e-9
    assert table.loc["lossless", "acceptance_rate"] == pytest.approx(
        1 - float(tv_distance(p, q).double().mean()), abs=1e-6
    )
    assert table.loc["linear:1", "acceptance_rate"] == pytest.approx(1.0)


def test_a_rule_that_emits_what_p_forbids_has_an_infinite_kl() -> None:
    p, q = torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([[0.2, 0.2, 0.6]])
    laws = VisitedLaws(p, q, torch.ones(1, dtype=torch.long), torch.zeros(1, dtype=torch.long))
    table = price_table(laws, ("linear:0.5", "clip:2")).set_index("rule")
    assert np.isinf(table.loc["linear:0.5", "kl"])
    assert np.isfinite(table.loc["clip:2", "kl"])


def test_nothing_visited_is_one_line(pair: Pair) -> None:
    with pytest.raises(InputError, match="no position"):
        visited_laws(pair, [], Settings(Effort(1)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--positions", "0"), "positions is 0"),
        (("--block-size", "0"), "block_size (B) is 0"),
        (("--steps", "0"), "steps (K) is 0"),
        (("--rules", "linear:2"), "linear"),
        (("--rules", " "), "rules is empty"),
        (("--dtype", "int8"), "dtype is 'int8'"),
        (("--out", "/dev/null/x"), "cannot write to /dev/null/x"),
    ],
)
def test_bad_input_to_price_is_one_line_before_anything_is_loaded(options: tuple[str, ...], words: str) -> None:
    result = CliRunner().invoke(app, ["price", "arith-masked", *options])
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_price_loads_the_pair_where_and_how_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[LoadOptions] = []

    def stop(load: LoadOptions, _: str, **__: object) -> Pair:
        asked.append(load)
        raise InputError("far enough")

    monkeypatch.setattr(LoadOptions, "load", stop)
    options = ("--device", "cuda:1", "--drafter-device", "cpu", "--dtype", "float16", "--device-map", "auto")
    result = CliRunner().invoke(app, ["price", "arith-masked", "--n", "1", *options, "--compile"])
    assert "far enough" in result.stderr
    assert asked == [LoadOptions("cuda:1", "cpu", "float16", "auto", compile=True)]


def test_price_in_another_precision() -> None:
    options = ("--n", "1", "--positions", "8", "--rules", "lossless,clip:2", "--dtype", "bfloat16", "--device", "cpu")
    result = CliRunner().invoke(app, ["price", "arith-masked", *options, "--json"])
    assert result.exit_code == 0, result.stderr
    assert [row["rule"] for row in json.loads(result.stdout)["rows"]] == ["lossless", "clip:2"]


def test_price_rests_on_the_texts_that_measure_decodes(tmp_path: Path) -> None:
    common = ("arith-masked", "--n", "2", "--max-new-tokens", "12", "--out", str(tmp_path))
    measured = CliRunner().invoke(
        app, ["measure", *common, "--rules", "lossless", "--steps", "1", "--block-sizes", "8", "--modes", "speculative"]
    )
    assert measured.exit_code == 0, measured.stderr
    options = ("--rules", "lossless", "--block-size", "8", "--json")
    priced = json.loads(CliRunner().invoke(app, ["price", *common, *options]).stdout)
    found = pd.read_parquet(tmp_path / "measurements.parquet").iloc[0]
    assert priced["rows"][0]["acceptance_rate"] == pytest.approx(found["acceptance_rb"], rel=1e-4)
