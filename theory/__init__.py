"""The theory of speculative diffusion: acceptance rules, optimal targets, throughput and frontiers.

Names are imported from their modules on first use, so that ``import specfrontier.theory`` stays light; which names,
and from where, says the stub beside this file.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
