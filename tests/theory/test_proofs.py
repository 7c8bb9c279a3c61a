"""Every line of the symbolic proofs is confirmed, and a false line is not."""

import dataclasses

import pytest
import sympy as sp

from specfrontier.theory import Proof, Step, cactus_proof, clip_proof, theorem1_proof
from specfrontier.theory.proofs import Relation

PROOFS = {"theorem 1": theorem1_proof(), "clip": clip_proof(), "cactus": cactus_proof()}


@pytest.mark.parametrize(
    "step",
    [pytest.param(step, id=f"{name}: {step.claim}") for name, proof in PROOFS.items() for step in proof.steps],
)
def test_sympy_confirms_the_step(step: Step) -> None:
    assert step.holds()


@pytest.mark.parametrize("proof", PROOFS.values(), ids=PROOFS)
def test_a_proof_verifies_and_prints(proof: Proof) -> None:
    proof.verify()
    text = str(proof)
    assert text.startswith(proof.statement)
    assert text.endswith("QED")
    assert all(step.claim in text for step in proof.steps)


def test_a_false_step_is_found_and_named() -> None:
    x = sp.Symbol("x", real=True)
    assert not Step("x is nonnegative", x, sp.Integer(0), Relation.AT_LEAST).holds()
    proof = theorem1_proof()
    last = proof.steps[-1]
    broken = dataclasses.replace(last, right=last.right + 1)
    with pytest.raises(AssertionError, match=r"step 12 .*attains the bound"):
        dataclasses.replace(proof, steps=(*proof.steps[:-1], broken)).verify()
