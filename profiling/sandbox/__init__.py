"""Running generated programs, which are taken to be hostile.

A program runs in a process of its own with no network, an empty environment, no view of the user's files, one small
private folder to write in, and limits on time, memory, processes, files and output. What isolates it is tried before
it is trusted (see `probe`); where nothing holds, nothing runs.
"""

from specfrontier.profiling.sandbox.isolation import Bubblewrap, Isolation, Namespaces, Unisolated
from specfrontier.profiling.sandbox.limits import Limits
from specfrontier.profiling.sandbox.probe import find_isolation
from specfrontier.profiling.sandbox.run import Outcome, run_program

__all__ = [
    "Bubblewrap",
    "Isolation",
    "Limits",
    "Namespaces",
    "Outcome",
    "Unisolated",
    "find_isolation",
    "run_program",
]
