"""Benchmarks: problems, prompts, extraction and scoring behind one protocol.

A package of its own weight: naming or loading a task imports neither torch nor `datasets`.
"""

from specfrontier.profiling.tasks.base import Task, TaskProblem
from specfrontier.profiling.tasks.registry import load_task, register_task, task_names

__all__ = ["Task", "TaskProblem", "load_task", "register_task", "task_names"]
