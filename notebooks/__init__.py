"""Notebooks that tell the story on the embedded pairs; `run_all` executes them."""
