"""Rules by position: one spec for each schedule, read back as it was written, and wrong ones named."""

import pytest
from hypothesis import given, strategies as st

from specfrontier.theory import Clip, Linear, Lossless, RuleSchedule, as_schedule, leniency_from_spec

RULES = st.sampled_from([Lossless(), Linear(0.3), Linear(1.0), Clip(1.5)])


@given(st.lists(RULES, min_size=1, max_size=12))
def test_a_spec_is_read_back_as_the_same_rule_at_every_position(rules: list) -> None:
    schedule = RuleSchedule(tuple(rules))
    read = leniency_from_spec(schedule.spec)
    assert read.spec == schedule.spec
    assert [as_schedule(read).rule_at(k) for k in range(20)] == [schedule.rule_at(k) for k in range(20)]


@pytest.mark.parametrize(
    ("rules", "spec"),
    [
        ((Linear(1.0), Linear(1.0), Lossless()), "linear:1.0@1-2/lossless"),
        ((Clip(4.0), Clip(2.0), Clip(2.0), Lossless(), Lossless()), "clip:4.0@1/clip:2.0@2-3/lossless"),
        ((Linear(0.3),) * 5, "linear:0.3"),
    ],
)
def test_schedules_that_treat_every_position_alike_share_one_spec(rules: tuple, spec: str) -> None:
    assert RuleSchedule(rules).spec == spec
    assert RuleSchedule((*rules, rules[-1])).spec == spec


def test_a_spec_without_positions_is_a_rule() -> None:
    assert leniency_from_spec("linear:0.30") == Linear(0.3)
    assert leniency_from_spec("linear:1@1-3/linear:1") == Linear(1.0)


def test_positions_past_the_end_take_the_last_rule() -> None:
    schedule = leniency_from_spec("linear:1@1-2/lossless")
    assert isinstance(schedule, RuleSchedule)
    assert [schedule.rule_at(k).spec for k in (0, 1, 2, 99)] == ["linear:1.0", "linear:1.0", "lossless", "lossless"]
    assert schedule.parameter is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("linear:1@1-3", "must end with a rule without positions"),
        ("linear:1/lossless", "'linear:1' .* lacks its positions; write it as 'RULE@1-8'"),
        ("linear:1@a-b/lossless", "lacks its positions"),
        ("linear:1@2-3/lossless", "must begin at position 1"),
        ("linear:1@1-3/clip:2@5/lossless", "must begin at position 4"),
        ("linear:1@1-0/lossless", "not end before it"),
        ("linaer:1@1-3/lossless", "unknown acceptance rule 'linaer'"),
        ("linear:1@1-3/", "unknown acceptance rule ''"),
        ("linear:1@1-1000000000/lossless", "ends past position 65536"),
        (None, "spec must be text"),
    ],
)
def test_a_bad_spec_says_what_is_wrong_and_what_to_write(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        leniency_from_spec(spec)


def test_a_schedule_without_rules_is_refused() -> None:
    with pytest.raises(ValueError, match="no rules"):
        RuleSchedule(())
