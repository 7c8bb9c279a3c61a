"""Ways to isolate a process, strongest first."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from specfrontier.profiling.sandbox.limits import Limits

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
BOX = "/box"
FIRST_UID = 1 << 30
"""Users from here up to twice this are nobody's."""

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": BOX, "PYTHONHASHSEED": "0"}
"""All that a program sees; a fixed hash seed, so that a score doesn't depend on the order of a set."""


class Isolation(Protocol):
    """Wraps a command so that it runs isolated."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    @property
    def program(self) -> str:
        """What must be installed."""
        ...

    @property
    def contains(self) -> bool:
        """Whether it blocks network, writes and other processes, so that a process limit counts the program's alone."""
        ...

    def wrap(self, command: list[str], scratch: Path, limits: Limits) -> list[str]:
        """The command that runs `command` isolated; `scratch` is an empty folder that the run may use up."""
        ...


def interpreter() -> Path:
    """The Python behind this one (a virtual environment's own is a link into folders that are not shown)."""
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


def _shown() -> Iterator[Path]:
    """What a program can read: the system's programs and libraries, and Python's own folder."""
    yield from (Path(folder) for folder in SYSTEM if Path(folder).is_dir())
    prefix = Path(sys.base_prefix).resolve()
    if not any(prefix.is_relative_to(folder) for folder in SYSTEM):
        yield prefix


def _unprivileged() -> list[str]:
    """Words before a command that leave it no privilege.

    The kernel doesn't hold root to a process limit, so root's programs run as a user that nobody else is: then the
    limit counts theirs alone. Anyone else is in a user namespace, where the limit counts what is inside.
    """
    words = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
    if os.geteuid() == 0:
        user = str(FIRST_UID + secrets.randbelow(FIRST_UID))
        words += ["--reuid", user, "--regid", user, "--clear-groups"]
    return [*words, "--"]


@dataclass(frozen=True)
class Bubblewrap:
    """bubblewrap: new namespaces, a root of its own, no capabilities."""

    name: str = "bubblewrap"
    program: str = "bwrap"
    contains: bool = True

    def wrap(self, command: list[str], scratch: Path, limits: Limits) -> list[str]:
        """See `Isolation.wrap`."""
        words = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        words += ["--die-with-parent", "--cap-drop", "ALL", "--clearenv"]
        if os.geteuid() == 0:
            words += [word for cap in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{cap}")]
        else:
            words += ["--unshare-user", "--disable-userns"]
        for name, value in ENVIRONMENT.items():
            words += ["--setenv", name, value]
        for path in _shown():
            if path.is_symlink():
                words += ["--symlink", os.readlink(path), str(path)]
            else:
                words += [*_parents(path), "--ro-bind", str(path), str(path)]
        for device in DEVICES:
            words += [*_parents(Path(device)), "--dev-bind", device, device]
        words += ["--perms", "0777", "--size", str(limits.file_mib << 20), "--tmpfs", BOX]
        return [*words, "--remount-ro", "/", "--chdir", BOX, "--", *_unprivileged(), *command]


def _parents(path: Path) -> list[str]:
    """Make the folders above: by itself bubblewrap may give them a mode that shuts an unprivileged user out."""
    return [word for parent in reversed(path.parents[:-1]) for word in ("--perms", "0755", "--dir", str(parent))]


_SETUP = """
set -e
root=$1 box=$2 size=$3; shift 3
mount --make-rprivate /
mount -t tmpfs -o mode=0755 tmpfs "$root"
while [ "$1" != -- ]; do
  if [ -h "$1" ]; then cp -P "$1" "$root$1"
  elif [ -d "$1" ]; then mkdir -p "$root$1"; mount --rbind "$1" "$root$1"
  else mkdir -p "$root${1%/*}"; : > "$root$1"; mount --bind "$1" "$root$1"
  fi
  shift
done
shift
mkdir -p "$root$box"
while read -r _ _ _ _ point _; do
  case $point in "$root"/*) mount -o remount,bind,ro "$point";; esac
done < /proc/self/mountinfo
mount -t tmpfs -o "size=$size,mode=0777" tmpfs "$root$box"
mount -o remount,bind,ro "$root"
set +e
chroot "$root" env -C "$box" "$@"
exit $?
"""
"""Builds a root of read-only binds and moves into it: for a process without capabilities there is no way back, nor can
it make a user namespace from within a changed root. The shell stays as the namespace's first process: it alone
keeps the signal that ends everything when `unshare` dies, as a change of user would clear it."""


@dataclass(frozen=True)
class Namespaces:
    """util-linux's `unshare` and `setpriv`: the same walls, put up by a short script."""

    name: str = "namespaces"
    program: str = "unshare"
    contains: bool = True

    def wrap(self, command: list[str], scratch: Path, limits: Limits) -> list[str]:
        """See `Isolation.wrap`."""
        spaces = ["--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child"]
        if os.geteuid() != 0:
            spaces += ["--user", "--map-root-user"]
        environment = {**ENVIRONMENT, "PATH": f"{ENVIRONMENT['PATH']}:/usr/sbin:/sbin"}
        setup = ["/bin/sh", "-c", _SETUP, "setup", str(scratch), BOX, str(limits.file_mib << 20)]
        shown = [*map(str, _shown()), *DEVICES, "--"]
        return [*_only(environment), "unshare", *spaces, *setup, *shown, *_unprivileged(), *command]


def _only(environment: dict[str, str]) -> list[str]:
    return ["env", "-i", *(f"{name}={value}" for name, value in environment.items())]


@dataclass(frozen=True)
class Unisolated:
    """Limits and an empty environment only.

    The network, the user's files and other processes stay in reach, and processes aren't limited.
    """

    name: str = "none"
    program: str = "env"
    contains: bool = False

    def wrap(self, command: list[str], scratch: Path, limits: Limits) -> list[str]:
        """See `Isolation.wrap`."""
        return [*_only({**ENVIRONMENT, "HOME": str(scratch)}), "env", "-C", str(scratch), *command]
