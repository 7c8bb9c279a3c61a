"""Recorded rounds along one line, on which a round from any place of any text walks along neighbours.

A round from output position t visits the places of the text up to the next recorded start, one after another, and from
there on the positions of the draft that was recorded there (``simulate.chain``). The line holds the texts one after
another, an entry a place, except that a place where a round started has its whole draft instead, closed by a wall
that no round passes. Any rule lays its rates out along it, for every block size at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from specfrontier.simulate.layout import Layout
from specfrontier.simulate.traces import Traces

__all__ = ["Line", "Slots"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_Number = TypeVar("_Number", np.int64, np.float64)


@dataclass(frozen=True)
class Line:
    """Recorded rounds along a line; slot g · width + t stands for output position t of generation g.

    Attributes:
        width: slots of a generation, one more than the longest text has tokens.
        entry: ``[S]`` first entry that a round from each slot visits.
        ahead: ``[S]`` entries from there to the next wall.
        drafted: ``[S]`` how many of those are positions of a draft.
        ends_with: ``[S]`` recorded round whose draft it is, -1 where the wall is the end of a text.
        entries: N, entries in all, walls past the last text included that no walk looks beyond.
        texts: indices of places into ``[G T]``, and their entries.
        drafts: indices of drafted positions into ``[R B]``, and their entries.
        visited: indices of visited positions into ``[R B]``, and of their places into ``[G T]``.
    """

    width: int
    entry: IntArray
    ahead: IntArray
    drafted: IntArray
    ends_with: IntArray
    entries: int
    texts: tuple[IntArray, IntArray]
    drafts: tuple[IntArray, IntArray]
    visited: tuple[IntArray, IntArray]

    @classmethod
    def of(cls, traces: Traces, layout: Layout) -> Line:
        """Lay out recorded rounds; a last slot without a token closes every text.

        Args:
            traces, layout: recorded rounds and where they started, for any block size.
        """
        rows, left = _with_end(layout.row, -1), _with_end(layout.left, 0)
        entries = np.where(rows >= 0, traces.length[rows] + 1, 1)
        entry = np.cumsum(entries) - entries
        started, place = np.flatnonzero(rows >= 0), np.flatnonzero((rows < 0) & (left > 0))
        owner, k = np.nonzero(traces.exists[rows[started]])
        walled = np.where((rows >= 0) | (left <= 0), np.arange(rows.size), rows.size)
        wall = np.minimum.accumulate(walled[::-1])[::-1]
        width = layout.row.shape[1] + 1
        return cls(
            width=width,
            entry=entry,
            ahead=(entry + entries - 1)[wall] - entry,
            drafted=np.where(rows[wall] >= 0, entries[wall] - 1, 0),
            ends_with=rows[wall],
            entries=int(entries.sum()) + 2 * traces.block_size,
            texts=(place - place // width, entry[place]),
            drafts=(rows[started][owner] * traces.block_size + k, entry[started][owner] + k),
            visited=_visited(traces, width - 1),
        )

    def laid_out(self, texts: FloatArray, drafts: FloatArray) -> FloatArray:
        """``[N]``: values ``[G, T]`` of texts and ``[R, B]`` of drafts along the line, 0 at the walls."""
        values = np.zeros(self.entries)
        for source, (index, entry) in ((texts, self.texts), (drafts, self.drafts)):
            values[entry] = source.take(index)
        return values

    def at_places(self, values: FloatArray) -> FloatArray:
        """``[G, T]``: values ``[R, B]`` at each place of the text, from the position that was visited there.

        Places of bonus tokens were not drafted; they take the mean over the generation.
        """
        table = np.full((len(self.entry) // self.width, self.width - 1), np.nan)
        table.ravel()[self.visited[1]] = values.take(self.visited[0])
        known = ~np.isnan(table)
        mean = np.where(known, table, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return np.where(known, table, mean[:, None])


def _visited(traces: Traces, longest: int) -> tuple[IntArray, IntArray]:
    """Visited positions as indices into ``[R B]``, and their places within the texts as indices into ``[G T]``."""
    row, k = np.nonzero(traces.exists & (np.arange(traces.block_size) <= traces.accepted[:, None]))
    generation, place = traces.generation[row], traces.start[row] + k
    inside = place < traces.output_tokens[generation]
    return (row * traces.block_size + k)[inside], (generation * longest + place)[inside]


@dataclass(frozen=True)
class Slots:
    """What a block size makes of every slot of a line, ``[S]``.

    Attributes:
        left: tokens still to come.
        room: most positions that a round from there may accept.
        seconds: of a round from there.
        longest: most positions that any round may accept.
    """

    left: IntArray
    room: IntArray
    seconds: FloatArray
    longest: int

    @classmethod
    def of(cls, line: Line, layout: Layout, block_size: int, seconds: FloatArray | None = None) -> Slots:
        """`layout` is that of the line's rounds for this block size; `seconds` ``[G, T]`` of rounds, 0 if not given."""
        left = _with_end(layout.left, 0)
        room = np.clip(np.minimum(line.ahead, left), 0, block_size)
        seconds = np.zeros(layout.left.shape) if seconds is None else seconds
        return cls(left, room, _with_end(seconds, 0.0), int(room.max()))


def _with_end(values: NDArray[_Number], end: float) -> NDArray[_Number]:
    """``[G, T]`` with one more column, flat."""
    return np.pad(values, ((0, 0), (0, 1)), constant_values=end).ravel()
