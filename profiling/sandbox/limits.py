"""What a generated program may use."""

from __future__ import annotations

from dataclasses import dataclass, fields

from specfrontier.errors import InputError

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of one run; each must be at least 1.

    The defaults are generous for a HumanEval program (the reference allows 3 s) and small for a machine: at worst
    `processes` times `memory_mib` of memory for `wall_s` seconds.

    Attributes:
        wall_s: seconds from start to kill.
        cpu_s: seconds of processor time, each process.
        memory_mib: address space, each process, MiB.
        processes: processes and threads at one time, the program's own included.
        file_mib: size of a file, and of the whole private folder, MiB.
        output_kib: standard output and error together, KiB; a program that says more is killed.
    """

    wall_s: int = 20
    cpu_s: int = 5
    memory_mib: int = 512
    processes: int = 16
    file_mib: int = 16
    output_kib: int = 1024

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value < 1:
                raise InputError(f"limit {field.name} is {value}; give an integer >= 1")
