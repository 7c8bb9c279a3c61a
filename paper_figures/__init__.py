"""The paper's figures and tables, from its printed numbers and from a user's own runs; and a run's report.

Names are imported on first use, so that importing the package does not load matplotlib; which names, and from where,
says the stub beside this file.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
