"""Drafters: from a prefix to a block of tokens, each with the law that it was drawn from."""

from specfrontier.decoding.drafters.base import Draft, Drafter, DraftRequest, DraftSession, Effort

__all__ = ["Draft", "DraftRequest", "DraftSession", "Drafter", "Effort"]
