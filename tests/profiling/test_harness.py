"""The harness wrapper generates as the pair does and scores as the verifier does."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

pytest.importorskip("lm_eval", reason="the extra `harness` is not installed")

from lm_eval.api.instance import Instance
from lm_eval.api.registry import get_model

from specfrontier.decoding import Pair
from specfrontier.errors import InputError
from specfrontier.profiling.harness import PairLM, cut_at


@pytest.fixture(scope="module")
def model(ar_pair: Pair) -> PairLM:
    return PairLM(ar_pair, rule="linear:0.5")


def request(kind: Any, *arguments: Any) -> Instance:
    return Instance(kind, {}, arguments, 0)


def test_it_is_registered_under_its_name(model: PairLM) -> None:
    assert get_model("specfrontier") is PairLM


def test_generation_is_the_pair_s_own_up_to_the_stop_string(model: PairLM, ar_pair: Pair) -> None:
    free = model.generate_until([request("generate_until", "w1 w2 w3", {"max_gen_toks": 12, "until": []})])[0]
    ids = ar_pair.encode("w1 w2 w3")
    assert free == ar_pair.run_ids(ids, model._settings("w1 w2 w3", 12)).text
    stop = free.split()[2]
    cut = model.generate_until([request("generate_until", "w1 w2 w3", {"max_gen_toks": 12, "until": [stop]})])[0]
    assert cut == free[: free.index(stop)]


def test_loglikelihood_is_the_chain_rule_over_single_passes(model: PairLM, ar_pair: Pair) -> None:
    log, greedy = model.loglikelihood([request("loglikelihood", "w1 w2", " w3 w4")])[0]
    ids = ar_pair.encode("w1 w2 w3 w4")
    expected, best = 0.0, True
    with torch.inference_mode():
        for t in (2, 3):
            logits = ar_pair.engine.verifier.network(ids[None, :t]).logits[0, -1]
            expected += float(torch.log_softmax(logits[: ar_pair.engine.vocab_size], -1)[ids[t]])
            best = best and int(logits.argmax()) == int(ids[t])
    assert log == pytest.approx(expected, abs=1e-5)  # float32 log-probabilities of two passes
    assert greedy == best


def test_spaces_at_the_end_of_a_context_change_nothing(model: PairLM) -> None:
    spaced, plain = model.loglikelihood(
        [request("loglikelihood", "w1 w2 ", "w3"), request("loglikelihood", "w1 w2", " w3")]
    )
    assert spaced == plain


def test_continuations_of_an_empty_context_are_a_law(model: PairLM, ar_pair: Pair) -> None:
    words = [request("loglikelihood", "", f"w{i}") for i in range(20)]
    total = sum(math.exp(log) for log, _ in model.loglikelihood(words))
    assert 0.5 < total < 1  # 20 of 24 tokens of a nearly uniform law; the others are special


def test_rolling_is_loglikelihood_of_the_whole_text(model: PairLM) -> None:
    text = "w1 w2 w3 w4 w5"
    whole = model.loglikelihood([request("loglikelihood", "", text)])[0][0]
    assert model.loglikelihood_rolling([request("loglikelihood_rolling", text)])[0] == pytest.approx(whole, abs=1e-5)


def test_rolling_over_windows_counts_every_token_once(model: PairLM, monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"w{i % 20}" for i in range(50))
    counted: list[int] = []
    score = model._score
    monkeypatch.setattr(PairLM, "_context_length", 16)
    monkeypatch.setattr(model, "_score", lambda ids, count: counted.append(count) or score(ids, count))
    assert model.loglikelihood_rolling([request("loglikelihood_rolling", text)])[0] < 0
    assert sum(counted) == 50
    assert max(counted) <= 16


def test_a_task_of_the_harness_runs_end_to_end(model: PairLM) -> None:
    import lm_eval
    from lm_eval.api.task import ConfigurableTask

    class Echo(ConfigurableTask):
        """Three documents that need no download."""

        def download(self, *_: Any, **__: Any) -> None:
            import datasets

            rows = [{"question": f"w{i} w{i + 1}", "answer": f"w{i}"} for i in range(3)]
            self.dataset = datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})

    task = Echo(
        config={
            "task": "echo",
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "{{question}}",
            "doc_to_target": "{{answer}}",
            "generation_kwargs": {"max_gen_toks": 8, "until": ["w7"]},
            "metric_list": [{"metric": "exact_match"}],
        }
    )
    from lm_eval.evaluator import evaluate

    results = evaluate(lm=model, task_dict={"echo": task}, bootstrap_iters=0)
    assert lm_eval.__name__
    assert 0 <= results["results"]["echo"]["exact_match,none"] <= 1
    responses = [sample["resps"][0][0] for sample in results["samples"]["echo"]]
    assert len(responses) == 3
    assert all("w7" not in text for text in responses)


def test_bad_dials_are_refused(ar_pair: Pair) -> None:
    for dials in ({"rule": "linear:2"}, {"steps": 0}, {"rule": "no-such-rule"}):
        with pytest.raises(InputError):
            PairLM(ar_pair, **dials)


@pytest.mark.parametrize(
    ("stops", "kept"), [([], "abcabc"), (["c"], "ab"), (["c", "b"], "a"), (["x"], "abcabc"), ([""], "abcabc")]
)
def test_text_is_cut_at_the_earliest_stop(stops: list[str], kept: str) -> None:
    assert cut_at("abcabc", stops) == kept
