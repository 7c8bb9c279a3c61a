"""Every acceptance rule by name, and the text form (``spec``) that tables and command lines use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from types import MappingProxyType
from typing import Any, TypeVar, dataclass_transform

from specfrontier.theory.rules.base import AcceptanceRule
from specfrontier.theory.rules.parameters import domain, option, parameter

__all__ = ["acceptance_rule", "registered_rules", "rule_from_spec"]

Rule = TypeVar("Rule", bound=type[AcceptanceRule])
_REGISTRY: dict[str, type[AcceptanceRule]] = {}


@dataclass_transform(frozen_default=True, field_specifiers=(parameter, option))
def acceptance_rule(name: str) -> Callable[[Rule], Rule]:
    """Class decorator: make the rule a frozen dataclass and enter it in the registry under ``name``."""

    def enter(cls: Rule) -> Rule:
        if name in _REGISTRY:
            raise ValueError(f"an acceptance rule named {name!r} exists already: {_REGISTRY[name].__name__}")
        cls.name = name
        _REGISTRY[name] = dataclass(frozen=True)(cls)
        return cls

    return enter


def registered_rules() -> Mapping[str, type[AcceptanceRule]]:
    """Read-only view of every rule class by the name that its spec starts with."""
    return MappingProxyType(_REGISTRY)


def rule_from_spec(spec: str) -> AcceptanceRule:
    """Build a rule from ``name[:value][:field=value]...``, the inverse of ``rule.spec``.

    Examples: ``lossless``, ``linear:0.3``, ``cactus:1.0:solver=taylor``. The bare value sets the rule's
    first field, its leniency. Raises ``ValueError`` naming the value, what is allowed and how to write it.
    """
    if not isinstance(spec, str):
        raise ValueError(f"an acceptance rule's spec must be text such as 'linear:0.3', got {spec!r}")
    name, *parts = spec.strip().split(":")
    if name not in _REGISTRY:
        known = ", ".join(sorted(_REGISTRY))
        raise ValueError(f"unknown acceptance rule {name!r} in spec {spec!r}; known rules: {known}")
    cls = _REGISTRY[name]
    declared = {entry.name: entry for entry in fields(cls)}
    try:
        given = _assignments(parts, declared)
    except ValueError as error:
        raise ValueError(f"bad acceptance rule spec {spec!r}: {error}") from None
    for entry in declared.values():
        if entry.default is MISSING and entry.name not in given:
            raise ValueError(f"spec {spec!r} lacks {entry.name}, {domain(entry)}; write it as '{name}:VALUE'")
    return cls(**given)


def _assignments(parts: list[str], declared: Mapping[str, Field[Any]]) -> dict[str, Any]:
    """All parts of a spec after its name as keyword arguments."""
    given: dict[str, Any] = {}
    for position, part in enumerate(parts):
        key, value = _assignment(part, position, declared)
        if key in given:
            raise ValueError(f"{key} is given twice; keep one of {given[key]!r} and {value!r}")
        given[key] = value
    return given


def _assignment(part: str, position: int, declared: Mapping[str, Field[Any]]) -> tuple[str, Any]:
    """One ``value`` or ``field=value`` of a spec as a keyword argument."""
    key, equals, text = part.partition("=")
    if not equals:
        if position > 0 or not declared:
            raise ValueError(f"unexpected {part!r}; after the first value write field=value")
        key, text = next(iter(declared)), part
    if key not in declared:
        raise ValueError(f"unknown field {key!r}; allowed: {', '.join(declared) or 'none'}")
    return key, domain(declared[key]).parse(key, text)
