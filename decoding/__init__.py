"""Algorithm 1 on real checkpoints: drafters, verifiers, pairs.

Names are imported on first use, so that reading pair files does not load transformers; which names, and from where,
says the stub beside this file.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
