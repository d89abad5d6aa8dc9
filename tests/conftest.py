"""Set before anything imports Triton, which decides then, and when a kernel is defined, whether kernels are interpreted."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")
