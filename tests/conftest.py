"""Make the helper modules that stand beside the tests importable by name, and keep torch on one thread."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), *(str(folder) for folder in HERE.iterdir() if folder.is_dir()), str(HERE.parent)]
