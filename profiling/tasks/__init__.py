"""Benchmarks: problems, prompts, extraction and scoring behind one protocol.

Naming a task imports none; loading one never imports torch.
"""

from specfrontier.profiling.tasks.base import Task, TaskProblem
from specfrontier.profiling.tasks.options import TaskOptions
from specfrontier.profiling.tasks.registry import load_task, register_task, task_names

__all__ = ["Task", "TaskOptions", "TaskProblem", "load_task", "register_task", "task_names"]
