"""What an acceptance rule is: when a drafted token is kept, and what replaces it when it is not.

A verifier law p and a drafter law q over one vocabulary, a token y ~ q, and a rule decide one emitted token.
Every rule answers four questions about it, exactly and for whole batches: ``acceptance``,
``acceptance_rate``, ``residual`` and ``output_law``. A new rule is a small file: subclass ``AcceptanceRule``,
``ReplacementRule`` or ``TargetRule``, and decorate it with ``acceptance_rule``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from array_api_compat import device

from specfrontier.theory.arrays import Array, at, cut_ratio, namespace, normalize, positive_part
from specfrontier.theory.rules.parameters import domain
from specfrontier.theory.validation import check_laws, check_tokens

__all__ = ["AcceptanceRule", "ReplacementRule", "TargetRule"]


@dataclass(frozen=True)
class AcceptanceRule(ABC):
    """A rule that keeps a drafted token y ~ q with some probability, and replaces it otherwise.

    Arrays come from any array-API library; ``p`` and ``q`` have shape ``[..., V]``, are laws over the last
    axis, and their leading axes broadcast. Every method validates its rows and raises ``ValueError`` naming
    the argument (see ``specfrontier.theory.validation``), unless called with ``validate=False``, as the
    decoder does with rows that it has normalised itself.
    """

    #: First part of ``spec``; set by ``acceptance_rule``.
    name: ClassVar[str] = ""
    #: True if the acceptance of y depends on (p(y), q(y)) alone, so that no full row need be read to decide.
    pointwise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for entry in fields(self):
            object.__setattr__(self, entry.name, domain(entry).check(entry.name, getattr(self, entry.name)))

    def acceptance(self, p: Array, q: Array, *, validate: bool = True) -> Array:
        """Probability ``[..., V]`` that the drafted token v is kept, for every v."""
        p, q = self._rows(p, q, validate)
        return self._acceptance(p, q)

    def acceptance_at(self, p_y: Array, q_y: Array) -> Array:
        """Probability that y is kept, from its own two probabilities ``[...]``; pointwise rules only.

        Correct when either is 0. Arguments are not validated: this is the decoder's hot path.
        """
        raise TypeError(f"{self.spec} is not pointwise: its acceptance needs whole rows, call acceptance_of(p, q, y)")

    def acceptance_of(self, p: Array, q: Array, y: Array, *, validate: bool = True) -> Array:
        """Probability ``[...]`` that the drafted tokens ``y`` ``[...]`` are kept, by the cheapest route."""
        p, q = self._rows(p, q, validate)
        y = self._tokens(y, p, q, validate)
        if self.pointwise:
            return self.acceptance_at(at(p, y), at(q, y))
        return at(self._acceptance(p, q), y)

    def acceptance_rate(self, p: Array, q: Array, *, validate: bool = True) -> Array:
        """Acceptance rate alpha = sum_v q(v) acceptance(v), shape ``[...]``."""
        p, q = self._rows(p, q, validate)
        xp = namespace(p, q)
        # Rounding may carry a sum of probabilities past 1 by an ulp or two.
        return xp.clip(xp.sum(q * self._acceptance(p, q), axis=-1), 0.0, 1.0)

    def residual(self, p: Array, q: Array, y: Array, *, validate: bool = True) -> Array:
        """Law ``[..., V]`` of the replacement after ``y`` ``[...]`` was rejected.

        Where the residual has no mass, which happens only if y could not have been rejected, the law is p.
        """
        p, q = self._rows(p, q, validate)
        y = self._tokens(y, p, q, validate)
        return self._residual(p, q, y)

    def output_law(self, p: Array, q: Array, *, validate: bool = True) -> Array:
        """Exact law ``[..., V]`` of the emitted token when y ~ q:
        q(v) acceptance(v) + sum_y q(y) (1 - acceptance(y)) residual_y(v).
        """
        p, q = self._rows(p, q, validate)
        return self._output_law(p, q)

    @property
    def parameter(self) -> tuple[str, float | int] | None:
        """Name and value of the rule's leniency (its first field), or None for a rule without one."""
        for entry in fields(self):
            return entry.name, getattr(self, entry.name)
        return None

    @property
    def spec(self) -> str:
        """Canonical text form, e.g. ``linear:0.3``; ``rule_from_spec`` is its inverse."""
        parts = [self.name]
        for position, entry in enumerate(fields(self)):
            value = getattr(self, entry.name)
            if position == 0:
                parts.append(str(value))
            elif value != entry.default:
                parts.append(f"{entry.name}={value}")
        return ":".join(parts)

    @property
    def kl_bound(self) -> float:
        """Least upper bound of KL(output law || p) over all p, q and V: a one-token certificate."""
        return math.inf

    def _acceptance(self, p: Array, q: Array) -> Array:
        """``acceptance`` for rows of one shape. Rules that are not pointwise override it."""
        return self.acceptance_at(p, q)

    @abstractmethod
    def _residual(self, p: Array, q: Array, y: Array) -> Array:
        """``residual`` for rows of one shape."""

    @abstractmethod
    def _output_law(self, p: Array, q: Array) -> Array:
        """``output_law`` for rows of one shape."""

    @staticmethod
    def _tokens(y: Array, p: Array, q: Array, validate: bool) -> Array:
        """``y`` as an array beside ``p``, checked if asked for."""
        return check_tokens(y, p, q) if validate else namespace(p).asarray(y, device=device(p))

    @staticmethod
    def _rows(p: Array, q: Array, validate: bool) -> tuple[Array, Array]:
        """``p`` and ``q`` checked if asked for, and of one shape: the private methods rely on it."""
        p, q = check_laws(p, q) if validate else (p, q)
        if p.shape == q.shape:
            return p, q
        p, q = namespace(p, q).broadcast_arrays(p, q)
        return p, q


class ReplacementRule(AcceptanceRule):
    """A rule whose replacement does not depend on which token was rejected."""

    @abstractmethod
    def _replacement(self, p: Array, q: Array) -> Array:
        """Law ``[..., V]`` of the replacement."""

    def _residual(self, p: Array, q: Array, y: Array) -> Array:
        law = self._replacement(p, q)
        xp = namespace(law)
        batch = np.broadcast_shapes(law.shape[:-1], tuple(getattr(y, "shape", ())))
        return xp.broadcast_to(law, (*batch, law.shape[-1]))

    def _output_law(self, p: Array, q: Array) -> Array:
        xp = namespace(p, q)
        keep = self._acceptance(p, q)
        # Summing what is rejected, not 1 - (sum of what is kept), stays accurate when few are rejected.
        rejection_rate = xp.sum(q * (1 - keep), axis=-1, keepdims=True)
        return q * keep + rejection_rate * self._replacement(p, q)


class TargetRule(ReplacementRule):
    """Rejection sampling towards a target p̃ that is chosen before y is drawn (Section 2 of the paper).

    Accepts y with probability min(1, p̃(y)/q(y)) and replaces it from Normalize([p̃ - q]_+), so the
    output law is p̃ itself and the acceptance rate is 1 - TV(p̃, q).
    """

    @abstractmethod
    def _target(self, p: Array, q: Array) -> Array:
        """Target p̃ ``[..., V]``; elementwise in (p, q) if the rule is pointwise."""

    def target(self, p: Array, q: Array, *, validate: bool = True) -> Array:
        """Target p̃ ``[..., V]``, which is also the rule's output law."""
        p, q = self._rows(p, q, validate)
        return self._target(p, q)

    def acceptance_at(self, p_y: Array, q_y: Array) -> Array:
        if not self.pointwise:
            return super().acceptance_at(p_y, q_y)
        return cut_ratio(self._target(p_y, q_y), q_y)

    def _acceptance(self, p: Array, q: Array) -> Array:
        return self.acceptance_at(p, q) if self.pointwise else cut_ratio(self._target(p, q), q)

    def _replacement(self, p: Array, q: Array) -> Array:
        return normalize(positive_part(self._target(p, q) - q), p)

    def _output_law(self, p: Array, q: Array) -> Array:
        return self._target(p, q)
