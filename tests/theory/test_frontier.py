"""Frontier geometry against its definitions."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from specfrontier.theory.frontier import (
    attainment,
    frontier_distance,
    frontier_probability,
    hypervolume,
    pareto_mask,
)

# Small integers make ties common, which is where dominance goes wrong.
coordinates = st.integers(0, 4).map(float)


def point_sets(objectives):
    return hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.just(objectives)), elements=coordinates)


def mask_by_definition(points):
    return np.array([not any((other >= point).all() and (other > point).any() for other in points) for point in points])


@pytest.mark.parametrize("objectives", [1, 2, 3])
@given(data=st.data())
@settings(max_examples=60)
def test_mask_is_the_definition_of_dominance(objectives, data):
    points = data.draw(point_sets(objectives))
    assert pareto_mask(points).tolist() == mask_by_definition(points).tolist()


@given(point_sets(2))
def test_minimising_is_maximising_the_negative(points):
    flipped = points * [-1, 1]
    assert pareto_mask(points, maximise=(False, True)).tolist() == pareto_mask(flipped).tolist()


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_mask_is_batched(objectives):
    points = np.random.default_rng(0).integers(0, 5, size=(4, 3, 6, objectives)).astype(float)
    mask = pareto_mask(points)
    assert mask.shape == (4, 3, 6)
    assert (mask[2, 1] == mask_by_definition(points[2, 1])).all()


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_no_points_have_an_empty_frontier(objectives):
    assert pareto_mask(np.zeros((0, objectives))).shape == (0,)
    assert pareto_mask(np.zeros((4, 0, objectives))).shape == (4, 0)
    assert hypervolume(np.zeros((0, objectives)), np.zeros(objectives)) == 0


def test_equal_points_are_all_kept():
    assert pareto_mask([[1, 1], [1, 1], [0, 2], [0, 1]]).tolist() == [True, True, True, False]


@given(point_sets(2))
def test_hypervolume_is_the_area_of_the_union_of_boxes(points):
    """On the integer grid the union's area is a count of unit cells."""
    cells = {(i, j) for x, y in points for i in range(int(x)) for j in range(int(y))}
    assert hypervolume(points, (0.0, 0.0)) == pytest.approx(len(cells))


@given(point_sets(2))
def test_hypervolume_ignores_dominated_points(points):
    assert hypervolume(points, (0, 0)) == pytest.approx(hypervolume(points[pareto_mask(points)], (0, 0)))


def test_hypervolume_with_latency():
    """Latencies 1 s and 2 s at accuracies 0.5 and 0.75, seen from (4 s, 0.25)."""
    area = hypervolume([[1, 0.5], [2, 0.75]], (4, 0.25), maximise=(False, True))
    assert area == pytest.approx(3 * 0.25 + 2 * 0.25)


@given(point_sets(2), point_sets(2))
def test_distance_is_the_least_improvement_that_frees_a_point(points, frontier):
    distance = frontier_distance(points, frontier)
    for point, t in zip(points, distance, strict=True):
        freed, short = point + t, point + t - 1e-9
        assert not any((f > freed + 1e-12).all() for f in frontier)
        assert t == 0 or any((f > short).all() for f in frontier)


@given(point_sets(2))
def test_distance_to_the_own_frontier_vanishes_on_it(points):
    assert (frontier_distance(points, points)[pareto_mask(points)] == 0).all()


def test_distance_is_scaled_and_signed_by_objective():
    """2 s slower and 0.1 less accurate; in units of (1 s, 0.02) the latency is the smaller lag."""
    distance = frontier_distance([[4, 0.8]], [[2, 0.9]], maximise=(False, True), scale=[1.0, 0.02])
    assert distance.tolist() == pytest.approx([2.0])


# Under uncertainty


def test_certain_points_have_probability_zero_or_one():
    points = np.array([[1, 0.9], [2, 0.8], [1.5, 0.7]])
    found = frontier_probability(np.repeat(points[None], 5, axis=0))
    assert found.probability.tolist() == [1, 1, 0]
    assert found.standard_error.tolist() == [0, 0, 0]
    assert found.replicates == 5


def test_a_tie_in_expectation_is_even():
    """B is slower than A, its accuracy differs by a zero-mean normal: on the frontier half of the time."""
    rng, draws = np.random.default_rng(0), 4_000
    replicates = np.zeros((draws, 2, 2))
    replicates[:, 0, 0] = 1.0
    replicates[:, 1, 1] = rng.normal(size=draws)
    found = frontier_probability(replicates)
    assert found.probability[0] == 1
    assert abs(found.probability[1] - 0.5) < 4 * found.standard_error[1]


def test_attainment_of_independent_points():
    """Two independent uniform points: a goal (a, a) is missed by both with probability (1 - (1 - a)²)²."""
    rng, draws = np.random.default_rng(1), 20_000
    goals = np.array([[0.0, 0.0], [0.3, 0.3], [0.7, 0.7], [1.0, 1.0]])
    found = attainment(rng.random((draws, 2, 2)), goals)
    exact = 1 - (1 - (1 - goals[:, 0]) ** 2) ** 2
    assert (np.abs(found - exact) <= 4 * np.sqrt(exact * (1 - exact) / draws)).all()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: pareto_mask([1.0, 2.0]), "points"),
        (lambda: pareto_mask([[1.0, np.nan]]), "points must be finite"),
        (lambda: pareto_mask([[1.0, 2.0]], maximise=(True,)), "maximise"),
        (lambda: pareto_mask([[1.0, 2.0]], maximise="max"), "maximise"),
        (lambda: hypervolume([[1.0, 2.0]], (0.0,)), "reference"),
        (lambda: frontier_distance([[1.0, 2.0]], np.zeros((0, 2))), "frontier"),
        (lambda: frontier_distance([[1.0, 2.0]], [[1.0, 2.0]], scale=0.0), "scale"),
        (lambda: frontier_distance([[1.0, 2.0]], [[1.0, 2.0]], scale=[1.0, 1.0, 1.0]), "scale"),
        (lambda: frontier_probability([[1.0, 2.0]]), "replicates"),
        (lambda: attainment([[[1.0, 2.0]]], [[1.0]]), "goals"),
    ],
)
def test_invalid_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
