"""specfrontier: measure, explain and predict the speed-quality frontier of speculative diffusion."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("specfrontier")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
