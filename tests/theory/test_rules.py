"""What every acceptance rule promises, on NumPy and on torch, for every registered rule."""

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from specfrontier.theory import (
    AcceptanceRule,
    Cactus,
    CascadeOpt,
    CascadeToken,
    Clip,
    Fuzzy,
    Greedy,
    Lenience,
    Linear,
    Lossless,
    SamplerMatch,
    TopK,
    TypicalAcceptance,
    coupling_bound,
    js_divergence,
    kl_divergence,
    registered_rules,
    rule_from_spec,
    tv_distance,
)

from .strategies import batches, law_pairs

#: At least one of every registered rule; thresholds are odd numbers, so that rounding does not decide a tie.
SPECS = [
    "lossless",
    "linear:0.0",
    "linear:0.3",
    "linear:1.0",
    "cactus:0.0",
    "cactus:1.0",
    "cactus:30.0",
    "cactus:1.0:solver=taylor",
    "cactus:0.21:divergence=reverse_kl",
    "cactus:0.21:divergence=chi2",
    "cactus:0.21:divergence=hellinger",
    "cactus:0.21:divergence=tv",
    "clip:1.0",
    "clip:1.5",
    "clip:40.0",
    "lenience:1.0",
    "lenience:0.3",
    "sampler-match",
    "greedy",
    "top-k:1",
    "top-k:3",
    "typical:0.09",
    "typical:0.4:delta=0.7",
    "cascade-opt:0.37",
    "cascade-opt:-1.3",
    "cascade-token:0.43",
    "cascade-token:1.0",
    "fuzzy:0.19",
]
RULES = [rule_from_spec(spec) for spec in SPECS]
every_rule = pytest.mark.parametrize("rule", RULES, ids=SPECS)
few = settings(max_examples=8, deadline=None)

#: Rules that replace from the verifier's law or its argmax, whatever was rejected.
REPLACES_FROM_VERIFIER = (TopK, TypicalAcceptance, Greedy)

#: Sums of a handful of float64 terms, each at most 1: a few hundred ulps is generous.
EXACT = 1e-12


def summed_law(rule: AcceptanceRule, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The definition: q(v) acceptance(v) + sum_y q(y) (1 - acceptance(y)) residual_y(v), one y at a time."""
    keep = rule.acceptance(p, q)
    law = q * keep
    for y in range(p.shape[-1]):
        law = law + q[y] * (1 - keep[y]) * rule.residual(p, q, y)
    return law


def test_every_registered_rule_is_covered() -> None:
    assert {rule.name for rule in RULES} == set(registered_rules())


@every_rule
@few
@given(pair=law_pairs())
def test_the_output_law_is_what_acceptance_and_residual_add_up_to(rule: AcceptanceRule, pair: tuple) -> None:
    p, q = pair
    np.testing.assert_allclose(rule.output_law(p, q), summed_law(rule, p, q), rtol=0, atol=EXACT)


@every_rule
@few
@given(pair=law_pairs())
def test_rates_are_probabilities_and_laws_are_laws(rule: AcceptanceRule, pair: tuple) -> None:
    p, q = pair
    keep = rule.acceptance(p, q)
    assert np.all((keep >= 0) & (keep <= 1))
    assert 0 <= rule.acceptance_rate(p, q) <= 1
    np.testing.assert_allclose(rule.acceptance_rate(p, q), np.sum(q * keep), atol=EXACT)
    residuals = rule.residual(p, q, np.arange(p.size))
    for law in (rule.output_law(p, q), *residuals):
        assert np.all(law >= 0)
        np.testing.assert_allclose(law.sum(), 1, atol=EXACT)


@pytest.mark.parametrize("rule", [r for r in RULES if not isinstance(r, REPLACES_FROM_VERIFIER)], ids=str)
@few
@given(pair=law_pairs())
def test_a_replacement_never_repeats_a_token_that_can_be_rejected(rule: AcceptanceRule, pair: tuple) -> None:
    p, q = pair
    keep = rule.acceptance(p, q)
    residuals = rule.residual(p, q, np.arange(p.size))
    # A rejection probability at rounding level may come with the fallback law.
    rejected = q * (1 - keep) > 1e-14
    assert np.all(np.diagonal(residuals)[rejected] == 0)


@every_rule
@few
@given(pair=law_pairs())
def test_no_rule_beats_the_maximal_coupling(rule: AcceptanceRule, pair: tuple) -> None:
    """acceptance <= 1 - TV(output law, q) <= 1 - TV(p, q) + TV(output law, p), whatever the rule."""
    p, q = pair
    rate, law = rule.acceptance_rate(p, q), rule.output_law(p, q)
    assert rate <= coupling_bound(law, q) + EXACT
    assert rate <= 1 - tv_distance(p, q) + tv_distance(law, p) + EXACT


@every_rule
@few
@given(pair=law_pairs())
def test_the_worst_case_certificate_holds(rule: AcceptanceRule, pair: tuple) -> None:
    p, q = pair
    assert kl_divergence(rule.output_law(p, q), p) <= rule.kl_bound + EXACT


@every_rule
@few
@given(pair=law_pairs())
def test_torch_gives_the_numbers_of_numpy(rule: AcceptanceRule, pair: tuple) -> None:
    p, q = pair
    y = np.arange(p.size)
    tensors = torch.tensor(p), torch.tensor(q)
    for ours, theirs in [
        (rule.acceptance(p, q), rule.acceptance(*tensors)),
        (rule.acceptance_rate(p, q), rule.acceptance_rate(*tensors)),
        (rule.output_law(p, q), rule.output_law(*tensors)),
        (rule.residual(p, q, y), rule.residual(*tensors, torch.tensor(y))),
        (rule.acceptance_of(p, q, y), rule.acceptance_of(*tensors, torch.tensor(y))),
    ]:
        assert isinstance(theirs, torch.Tensor)
        assert theirs.dtype == torch.float64
        assert tuple(theirs.shape) == np.shape(ours)
        np.testing.assert_allclose(theirs.numpy(), ours, rtol=0, atol=EXACT)


@every_rule
@few
@given(rows=batches())
def test_a_batch_is_its_rows(rule: AcceptanceRule, rows: tuple) -> None:
    p, q = rows
    y = np.arange(len(p)) % p.shape[-1]
    for i in range(len(p)):
        np.testing.assert_allclose(rule.output_law(p, q)[i], rule.output_law(p[i], q[i]), atol=EXACT)
        np.testing.assert_allclose(rule.residual(p, q, y)[i], rule.residual(p[i], q[i], y[i]), atol=EXACT)
        np.testing.assert_allclose(rule.acceptance(p, q)[i], rule.acceptance(p[i], q[i]), atol=EXACT)


@every_rule
def test_leading_axes_broadcast(rule: AcceptanceRule) -> None:
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(5), (4, 1)), rng.dirichlet(np.ones(5), 3)
    y = np.zeros((4, 3), dtype=int)
    assert rule.acceptance(p, q).shape == (4, 3, 5)
    assert rule.output_law(p, q).shape == (4, 3, 5)
    assert rule.residual(p, q, y).shape == (4, 3, 5)
    assert rule.acceptance_rate(p, q).shape == rule.acceptance_of(p, q, y).shape == (4, 3)


@every_rule
@few
@given(pair=law_pairs())
def test_the_cheap_route_to_one_token_agrees_with_the_row(rule: AcceptanceRule, pair: tuple) -> None:
    p, q = pair
    y = np.arange(p.size)
    row = rule.acceptance(p, q)
    np.testing.assert_array_equal(rule.acceptance_of(p, q, y), row)
    if rule.pointwise:
        np.testing.assert_array_equal(rule.acceptance_at(p, q), row)
    else:
        with pytest.raises(TypeError, match="needs whole rows"):
            rule.acceptance_at(p, q)


@every_rule
@few
@given(p_y=st.sampled_from([0.0, 1e-300, 0.3, 1.0]), q_y=st.sampled_from([0.0, 1e-300, 0.3, 1.0]))
def test_the_hot_path_is_a_probability_at_every_corner(rule: AcceptanceRule, p_y: float, q_y: float) -> None:
    if rule.pointwise:
        kept = rule.acceptance_at(np.float64(p_y), np.float64(q_y))
        assert 0 <= kept <= 1


@every_rule
def test_float32_rows_stay_float32_and_close(rule: AcceptanceRule) -> None:
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(50)), rng.dirichlet(np.ones(50))
    single = torch.tensor(p, dtype=torch.float32), torch.tensor(q, dtype=torch.float32)
    law = rule.output_law(*single, validate=False)
    assert law.dtype == rule.acceptance(*single).dtype == rule.residual(*single, 3).dtype == torch.float32
    np.testing.assert_allclose(law.numpy(), rule.output_law(p, q), atol=1e-5)  # 50 terms of float32


@every_rule
def test_a_spec_is_read_back_and_a_rule_pickles(rule: AcceptanceRule) -> None:
    assert rule_from_spec(rule.spec) == rule
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert rule.spec.startswith(rule.name)


def test_specs_are_canonical() -> None:
    assert Lossless().spec == "lossless"
    assert Linear(0.3).spec == "linear:0.3"
    assert Linear(-0.0).spec == "linear:0.0"
    assert Cactus(1).spec == "cactus:1.0"
    assert Cactus(1.0, solver="taylor").spec == "cactus:1.0:solver=taylor"
    assert TypicalAcceptance(0.09).spec == "typical:0.09"
    assert TopK(4).spec == "top-k:4"
    assert Linear(0.3).parameter == ("lam", 0.3)
    assert Cactus(delta=2.0).parameter == ("delta", 2.0)
    assert Greedy().parameter is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("linaer:0.3", "unknown acceptance rule 'linaer'.*known rules: cactus"),
        ("linear", "lacks lam, a real number in .0, 1.; write it as 'linear:VALUE'"),
        ("linear:1.5", "lam must be a real number in .0, 1., got 1.5; 0 is lossless"),
        ("linear:high", "got 'high'"),
        ("linear:nan", "got nan"),
        ("linear:0.3:0.4", "unexpected '0.4'"),
        ("linear:0.3:lam=0.5", "lam is given twice"),
        ("cactus:1.0:solver=taylor:solver=newton", "solver is given twice"),
        ("linear:", "got ''"),
        (None, "spec must be text"),
        ("linear:mu=0.3", "unknown field 'mu'; allowed: lam"),
        ("lossless:0.1", "unexpected '0.1'"),
        ("clip:0.5", "b must be a real number in .1, inf., got 0.5; 1 is lossless"),
        ("clip:inf", "got inf"),
        ("lenience:0", r"in \(0, 1\]"),
        ("top-k:2.5", "k must be an integer"),
        ("cactus:1.0:solver=bisection", "solver must be one of newton, taylor"),
        ("cactus:1.0:solver=taylor:divergence=tv", "smooth divergence"),
    ],
)
def test_a_bad_spec_says_what_is_wrong_and_what_to_write(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rule_from_spec(spec)


@pytest.mark.parametrize("value", [True, "0.3", None, float("nan"), -0.1])
def test_a_bad_parameter_is_refused_at_construction(value: object) -> None:
    with pytest.raises(ValueError, match="lam must be a real number"):
        Linear(value)  # type: ignore[arg-type]


# What each rule in particular is.


@pytest.mark.parametrize(
    "rule",
    [
        Linear(0.0),
        Cactus(0.0),
        Clip(1.0),
        Lenience(1.0),
        Fuzzy(0.0),
        CascadeToken(-0.1),
        CascadeOpt(-1e9),
        SamplerMatch(),
    ],
    ids=lambda rule: rule.spec,
)
@few
@given(pair=law_pairs())
def test_the_strict_end_of_every_family_emits_the_verifiers_law(rule: AcceptanceRule, pair: tuple) -> None:
    p, q = pair
    if isinstance(rule, CascadeOpt) and tv_distance(p, q) < 1e-6:
        return  # the margin alpha TV vanishes with TV
    np.testing.assert_allclose(rule.output_law(p, q), p, rtol=0, atol=EXACT)
    if not isinstance(rule, SamplerMatch):
        np.testing.assert_allclose(rule.acceptance(p, q), Lossless().acceptance(p, q), rtol=0, atol=EXACT)


@pytest.mark.parametrize("rule", [Linear(1.0), CascadeToken(1.0), Fuzzy(0.7), CascadeOpt(1e9)], ids=str)
@few
@given(pair=law_pairs())
def test_the_lenient_end_keeps_every_draft(rule: AcceptanceRule, pair: tuple) -> None:
    p, q = pair
    if isinstance(rule, CascadeOpt) and tv_distance(p, q) < 1e-6:
        return  # the margin alpha TV vanishes with TV
    np.testing.assert_allclose(rule.output_law(p, q), q, rtol=0, atol=EXACT)
    np.testing.assert_allclose(rule.acceptance_rate(p, q), 1, atol=EXACT)


@few
@given(pair=law_pairs(), lam=st.floats(0, 1))
def test_linear_leniency_scales_the_rejection_rate_and_attains_the_bound(pair: tuple, lam: float) -> None:
    """alpha(lam) = 1 - (1 - lam) TV: the convenient shape behind Equation 6."""
    p, q = pair
    rule = Linear(lam)
    np.testing.assert_allclose(rule.acceptance_rate(p, q), 1 - (1 - lam) * tv_distance(p, q), atol=EXACT)
    np.testing.assert_allclose(tv_distance(rule.output_law(p, q), p), lam * tv_distance(p, q), atol=EXACT)


@few
@given(pair=law_pairs(), b=st.floats(1, 1e6))
def test_clip_and_lenience_accept_alike_and_replace_differently(pair: tuple, b: float) -> None:
    p, q = pair
    np.testing.assert_allclose(Clip(b).acceptance(p, q), Lenience(1 / b).acceptance(p, q), rtol=1e-12)
    law = Clip(b).output_law(p, q)
    assert np.all(law <= b * p * (1 + EXACT))
    assert kl_divergence(law, p) <= kl_divergence(Lenience(1 / b).output_law(p, q), p) + EXACT


@few
@given(pair=law_pairs(), lenience=st.floats(1e-3, 1))
def test_lenience_caps_every_token_at_p_over_l(pair: tuple, lenience: float) -> None:
    p, q = pair
    assert np.all(Lenience(lenience).output_law(p, q) <= p / lenience + EXACT)


def test_greedy_emits_the_first_of_tied_maxima() -> None:
    p, q = np.array([0.2, 0.4, 0.4]), np.array([0.1, 0.2, 0.7])
    assert Greedy().output_law(p, q).tolist() == [0, 1, 0]
    assert Greedy().acceptance(p, q).tolist() == [0, 1, 0]


EXTREME = [
    Clip(1e39),
    Clip(1e308),
    Lenience(1e-50),
    Lenience(5e-324),
    Cactus(1e39),
    Cactus(1e308),
    Cactus(1e308, solver="taylor"),
    Cactus(1e308, divergence="chi2"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rule", EXTREME, ids=lambda rule: rule.spec)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("of", [torch.tensor, np.asarray], ids=["torch", "numpy"])
def test_no_leniency_overflows_into_tokens_that_p_excludes(rule: AcceptanceRule, dtype: str, of: Callable) -> None:
    """A parameter beyond the dtype's range means what the largest one within it means."""
    p, q = of(np.array([0.0, 0.5, 0.5], dtype)), of(np.array([0.5, 0.5, 0.0], dtype))
    assert rule.acceptance(p, q).tolist() == [0, 1, 1]
    assert rule.output_law(p, q).tolist() == [0, 0.5, 0.5]


@pytest.mark.parametrize("rule", [Cactus(0.0), Cactus(0.0, solver="taylor")], ids=lambda rule: rule.spec)
def test_sixteen_bit_floats_keep_small_probabilities(rule: AcceptanceRule) -> None:
    p, q = np.array([1e-6], "float16"), np.array([0.5], "float16")
    kept = rule.acceptance_at(p, q)
    assert kept.dtype == np.float16
    assert kept == Lossless().acceptance_at(p, q)


def test_top_k_accepts_ties_and_nothing_that_p_excludes() -> None:
    p, q = np.array([0.5, 0.25, 0.25, 0.0]), np.full(4, 0.25)
    assert TopK(1).acceptance(p, q).tolist() == [1, 0, 0, 0]
    assert TopK(2).acceptance(p, q).tolist() == [1, 1, 1, 0]
    assert TopK(9).acceptance(p, q).tolist() == [1, 1, 1, 0]


def test_typical_acceptance_loosens_with_entropy() -> None:
    q = np.full(4, 0.25)
    sure, unsure = np.array([0.97, 0.01, 0.01, 0.01]), np.array([0.28, 0.24, 0.24, 0.24])
    assert TypicalAcceptance(0.3, delta=0.3).acceptance(sure, q).tolist() == [1, 0, 0, 0]
    assert TypicalAcceptance(0.3, delta=0.3).acceptance(unsure, q).tolist() == [1, 1, 1, 1]


def test_cascade_defers_where_the_verifier_is_surer() -> None:
    p, q = np.array([0.8, 0.1, 0.1]), np.array([0.4, 0.3, 0.3])  # TV = 0.4, confidences 0.8 and 0.4
    np.testing.assert_array_equal(CascadeOpt(0.9).output_law(p, q), p)
    np.testing.assert_array_equal(CascadeOpt(1.1).output_law(p, q), q)


def test_cascade_token_trusts_the_drafter_on_likely_tokens_only() -> None:
    p, q = np.array([0.5, 0.4, 0.1]), np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(CascadeToken(0.3).output_law(p, q), [0.2 + 0.25, 0.3 + 0.2, 0.05], atol=EXACT)


def test_fuzzy_keeps_rows_below_its_threshold() -> None:
    p, q = np.array([0.6, 0.4]), np.array([0.5, 0.5])
    threshold = float(js_divergence(p, q))
    np.testing.assert_array_equal(Fuzzy(threshold).output_law(p, q), p)  # strictly below
    np.testing.assert_array_equal(Fuzzy(math.nextafter(threshold, 1)).output_law(p, q), q)
