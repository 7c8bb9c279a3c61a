"""The first code inside the sandbox: sets the limits, runs the program, then reports.

It is passed to the interpreter as text, because nothing of this project can be seen from inside. Standard input holds
one JSON object: `source`, `report` (what to write once the program has run to its end) and `limits`. A program that
exits early, by whatever means, never gets as far as the report. (A program that searches its own process for the
report could forge it; no in-process test can prevent that.)
"""

import json
import os
import resource
import sys

job = json.load(sys.stdin)
limits = job.pop("limits")
for kind, value in (
    (resource.RLIMIT_CPU, limits["cpu_s"]),
    (resource.RLIMIT_AS, limits["memory_mib"] << 20),
    (resource.RLIMIT_FSIZE, limits["file_mib"] << 20),
    (resource.RLIMIT_NPROC, limits["processes"]),
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_NOFILE, 64),
):
    if value is not None:
        resource.setrlimit(kind, (value, value))
stdin = os.open(os.devnull, os.O_RDONLY)
os.dup2(stdin, 0)
try:
    # As the reference does it: an empty namespace, so that `if __name__ == "__main__"` stays untaken.
    exec(compile(job["source"], "<program>", "exec"), {})
except MemoryError:
    os.write(1, b"MemoryError\n")  # a traceback would need the memory that there is none of
    os._exit(1)
sys.stdout.flush()
os.write(1, job["report"].encode())
os._exit(0)
