"""draftproof: exact checking of speculative-decoding verifiers.

    @draftproof.chain(family="token")                   # or @draftproof.tree: their help says how a verifier is called
    def verify(drafts, declared, target): ...

    print(draftproof.check(verify))                     # the same: draftproof check file.py:verify

chain, tree          declare a verifier                 drafter, generator   declare a drafter, a whole generation loop
check                judge it, and return a Report      conformance          the same as pytest tests
Report, Subject      what they return                   SubjectError         what is wrong with a subject

Public names are loaded from their module on first use, so `import draftproof` stays cheap.
"""
import importlib as _importlib
import os as _os
from typing import Any as _Any

__version__ = "0.1.0"
_here = _os.path.dirname(_os.path.abspath(__file__))
if not _os.path.isdir(_os.path.join(_here, "oracle")):  # editable install from a checkout without symlinks
    __path__.append(_os.path.dirname(_os.path.dirname(_here)))

_EXPORTS = {
    name: "draftproof.oracle" for name in ("Report", "Subject", "SubjectError", "chain", "check", "drafter", "generator", "tree")
} | {"conformance": "draftproof.suite"}


def __getattr__(name: str) -> _Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_importlib.import_module(_EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
