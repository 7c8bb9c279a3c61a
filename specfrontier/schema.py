"""The tables that flow between the packages: columns, types and meaning, in one place.

Data flows one way: pair, draft, verify, **records**, profile, prediction, comparison, figure. `profiling` writes these
tables as Parquet, `simulate` and `paper_figures` read them; neither needs to know who wrote them. Every file carries
`SCHEMA_VERSION` and, as JSON, the provenance of its run (seed, versions, machine, pair file, settings).

Words. *Acceptance* has four meanings in the wild; here `accepted` counts drafted tokens that were kept, without the
bonus or correction token; a position is *visited* if it was accepted or is the first rejection; per-position rates
are conditional on being visited. Seconds are wall seconds of one sequence at batch size one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SCHEMA_VERSION = 4
"""2 added `log_likelihood`, and `deviation` and `fitted` to predictions; 3 added `overshoot` to predictions and
`verification` to measurements; 4 added `max_new_tokens` and `seed` to measurements, `task` and `max_new_tokens` to
predictions. What an older file lacks reads as missing."""

Type = Literal["string", "int64", "float64", "bool", "list<float64>", "list<int64>"]


@dataclass(frozen=True)
class Column:
    """One column: its Arrow type, its meaning, and whether a value may be absent."""

    name: str
    type: Type
    meaning: str
    nullable: bool = False


CONFIGURATIONS = (
    Column("config", "string", "key: a digest of every setting below"),
    Column("pair", "string", "name of the pair"),
    Column("task", "string", "name of the task"),
    Column("mode", "string", "speculative, autoregressive (verifier alone), drafter (drafter alone) or assisted"),
    Column("steps", "int64", "diffusion effort K", nullable=True),
    Column("threshold", "float64", "confidence threshold tau, where it sets the effort", nullable=True),
    Column("rule", "string", "spec of the acceptance rule, such as linear:0.3", nullable=True),
    Column("block_size", "int64", "block size B", nullable=True),
    Column("max_new_tokens", "int64", "token limit"),
    Column("verification", "string", "paper or exact", nullable=True),
    Column("seed", "int64", "seed of the configuration; a problem's own seed derives from it"),
    Column("status", "string", "done, running or failed"),
    Column("error", "string", "one line, for a failed configuration", nullable=True),
)

PROBLEMS = (
    Column("config", "string", "key of the configuration"),
    Column("problem", "string", "identifier of the problem within its task"),
    Column("prompt_tokens", "int64", "length of the prompt"),
    Column("output_tokens", "int64", "tokens emitted, the end token included, none after it"),
    Column("rounds", "int64", "draft-and-verify rounds"),
    Column("accepted", "int64", "drafted tokens kept, over all rounds"),
    Column("visited", "int64", "positions accepted or first rejected, over all rounds"),
    Column("finished", "bool", "an end token was emitted (otherwise the token limit stopped it)"),
    Column("correct", "bool", "scored right by the task", nullable=True),
    Column("agreement", "float64", "mean over visited positions of 1 - TV(output law, p)", nullable=True),
    Column("kl", "float64", "sum over visited positions of KL(output law || p), nats", nullable=True),
    Column(
        "log_likelihood",
        "float64",
        "verifier's log-probability of the output given the prompt, at temperature 1 and untruncated, nats",
        nullable=True,
    ),
    Column("prefill_s", "float64", "seconds of the verifier's prefill, not part of decode_s"),
    Column("decode_s", "float64", "seconds of all rounds, records and traces between them apart"),
    Column("text", "string", "decoded output"),
)

ROUNDS = (
    Column("config", "string", "key of the configuration"),
    Column("problem", "string", "identifier of the problem"),
    Column("round", "int64", "0, 1, ... within the problem"),
    Column("context", "int64", "tokens before the block, prompt included"),
    Column("requested", "int64", "block size asked of the drafter"),
    Column("drafted", "int64", "positions up to a drafted end token, that one included"),
    Column("verified", "int64", "positions verified, after every cut"),
    Column("accepted", "int64", "drafted tokens kept"),
    Column(
        "emitted",
        "int64",
        "tokens added to the output (accepted plus one, less what an end or the limit cut)",
    ),
    Column("forwards", "int64", "drafter forwards run"),
    Column("draft_s", "float64", "seconds of the draft"),
    Column("verify_s", "float64", "seconds of the verifier's forward"),
    Column("accept_s", "float64", "seconds of the rest of the round: acceptance and bookkeeping"),
    Column(
        "tv",
        "list<float64>",
        "TV(p_k, q_k) by position, at zero leniency, on the draft's prefix",
        nullable=True,
    ),
    Column("p_y", "list<float64>", "verifier's probability of the drafted token, by position", nullable=True),
    Column("q_y", "list<float64>", "drafter's probability of the drafted token, by position", nullable=True),
    Column(
        "acceptance",
        "list<float64>",
        "the rule's acceptance rate by position, given that it is visited",
        nullable=True,
    ),
    Column("deviation", "list<float64>", "TV(output law, p_k) of the rule by position", nullable=True),
    Column("kl", "list<float64>", "KL(output law || p_k) of the rule by position, nats", nullable=True),
    Column("steps", "list<int64>", "denoising step at which each position was fixed", nullable=True),
)

MEASUREMENTS = (
    Column("config", "string", "key of the configuration"),
    Column("pair", "string", "name of the pair"),
    Column("task", "string", "name of the task"),
    Column("mode", "string", "as in configurations"),
    Column("steps", "int64", "K", nullable=True),
    Column("threshold", "float64", "tau", nullable=True),
    Column("rule", "string", "spec of the acceptance rule", nullable=True),
    Column("block_size", "int64", "B", nullable=True),
    Column("verification", "string", "paper or exact", nullable=True),
    Column("max_new_tokens", "int64", "token limit", nullable=True),
    Column("seed", "int64", "seed of the configuration", nullable=True),
    Column("n", "int64", "problems measured"),
    *(
        Column(f"{name}{suffix}", "float64", f"{meaning}{what}", nullable=True)
        for name, meaning in (
            ("accuracy", "share of problems scored right"),
            ("throughput", "output tokens a second of decoding (sum over sum)"),
            ("latency", "seconds a problem, prefill and decoding (mean)"),
            ("tokens_per_round", "emitted tokens a round (sum over sum)"),
            ("acceptance", "accepted over visited positions, as counted"),
            ("acceptance_rb", "the same, from acceptance rates (Rao-Blackwellised)"),
            ("agreement", "verifier agreement: mean over visited positions of 1 - TV(output law, p)"),
            ("kl", "sum of per-token KL(output law || p) a problem, nats"),
            ("log_likelihood", "verifier's log-probability an output token, nats (sum over sum)"),
        )
        for suffix, what in (
            ("", ""),
            ("_se", ", standard error"),
            ("_low", ", 95 % interval"),
            ("_high", ", 95 % interval"),
        )
    ),
)

PREDICTIONS = (
    Column("predictor", "string", "name of the predictor"),
    Column("pair", "string", "name of the pair"),
    Column("task", "string", "name of the task", nullable=True),
    Column("max_new_tokens", "int64", "token limit", nullable=True),
    Column("steps", "int64", "K", nullable=True),
    Column("threshold", "float64", "tau", nullable=True),
    Column("rule", "string", "spec of the acceptance rule"),
    Column("block_size", "int64", "B"),
    *(
        Column(f"{name}{suffix}", "float64", f"{meaning}{what}", nullable=True)
        for name, meaning in (
            ("throughput", "output tokens a second"),
            ("latency", "seconds a problem"),
            ("tokens_per_round", "emitted tokens a round"),
            ("acceptance", "accepted over visited positions"),
            ("agreement", "1 - expected TV(output law, p) a visited position"),
            ("accuracy", "share of problems right, where a quality model was fitted"),
            ("deviation", "expected sum of TV(output law, p) over the visited positions of a problem"),
            ("overshoot", "expected sum of nats by which tokens that p likes less than q pass, a lower estimate of KL"),
        )
        for suffix, what in (
            ("", ""),
            ("_low", ", lower end of the interval"),
            ("_high", ", upper end of the interval"),
        )
    ),
    Column("fitted", "bool", "the predictor was fitted on this very configuration: no score may use it", nullable=True),
)

TABLES = {
    "configurations": CONFIGURATIONS,
    "problems": PROBLEMS,
    "rounds": ROUNDS,
    "measurements": MEASUREMENTS,
    "predictions": PREDICTIONS,
}
