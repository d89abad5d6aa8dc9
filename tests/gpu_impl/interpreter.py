"""Triton's interpreter, faster: most of its time it patches its language, at every call of a function; once a launch is enough."""
from typing import Any

import pytest


def patch_once_a_launch(patch: pytest.MonkeyPatch) -> None:
    """Once for every set of Triton's modules that functions see.  Nothing happens where another release of Triton has no such function."""
    from triton import language
    from triton.runtime import interpreter

    original = getattr(interpreter, "_patch_lang", None)
    scopes: dict[frozenset[str], Any] = {}

    class Scope:
        def restore(self) -> None:
            while scopes:
                scopes.popitem()[1].restore()

    def patch_lang(function: Any) -> Scope:
        sees = frozenset(module.__name__ for module in function.__globals__.values() if module is language or module is language.core)
        if sees not in scopes:
            scopes[sees] = original(function)  # type: ignore[misc]
        return Scope()

    if original is not None:
        patch.setattr(interpreter, "_patch_lang", patch_lang)
