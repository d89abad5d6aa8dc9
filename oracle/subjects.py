"""Subjects: what is judged, and how it likes to be called.

A subject is a callable of one of two shapes (B rows at once, N nodes, V tokens, D the depth of the deepest node, K drafts):

* tree:  ``f(tokens[B,N], parents[B,N], valid[B,N], target[B,N,V], declared[B,N,V] | None, **randomness) -> (blocks[B,D+1], accepted[B])``
* chain: ``f(drafts[B,K], declared[B,K,V] | None, target[B,K+1,V], **randomness) -> (blocks[B,K+1], accepted[B])``

Node 0 is the root, its token and declared row ignored; the root and padding are their own parent; siblings are verified in index order, the
order in which they were drawn; ``declared=None`` means one-hot.  Blocks are the emitted tokens, bonus included, padded with -1.
"""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeVar

from draftproof.reference.exact_json import among, nearest
from draftproof.reference.verifiers import FAMILIES, Family, family

from .interrupt import Hung

Shape = Literal["tree", "chain"]
Rows = Literal["probs", "log_probs", "logits"]
Randomness = Literal["internal", "generator", "uniforms", "seeds"]

Made = TypeVar("Made")

CLAIMS = ("lossless", "conditionally_optimal", "optimal_on_chains", "optimal_on_fixed_trees", "lossy")

MOST_NAMES = 8
"""Names that an error lists."""


class SubjectError(Exception):
    """A subject that could not be loaded or called, or returned nonsense; says which instance and what came back."""


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _words(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(one, str) for one in value)


SENSE: dict[str, tuple[Callable[[Any], bool], str]] = {
    "family": (lambda value: isinstance(value, str), "the name of a family"),
    "device": (lambda value: isinstance(value, str), "a device's name, such as cpu or cuda:0"),
    "columns": (callable, "a function of the number of nodes"),
    "order": (callable, "a function of the number of nodes"),
    "layout": (lambda value: value == "draftproof", '"draftproof" (leave it out for a layout of your own)'),
    "batched": (lambda value: isinstance(value, bool), "True or False"),
    "rows_per_draft": (lambda value: _integer(value) and 1 <= value <= 1 << 12, f"a number of rows, 1 to {1 << 12}"),
    "overwrites": (_words, "a tuple of names of arguments"),
    "temperature": (lambda value: _number(value) and value >= 0, "a finite number, 0 or more"),
    "top_k": (lambda value: _integer(value) and value >= 1, "a number of tokens, 1 or more"),
    "top_p": (lambda value: _number(value) and 0 < value <= 1, "a number above 0, up to 1"),
    "claims": (_words, "a tuple of claims"),
}
"""What a declaration may be, where it is not one of a few words: a test, and in words."""


@dataclass(frozen=True)
class Subject:
    """A callable and what its author declares about it.

    ``family``: the reference it claims to be, which fixes the drafting schemes it is given and the exact E[L]; None judges losslessness only.
    ``rows``, ``dtype``, ``framework``, ``device``: the form of the rows it takes.
    ``randomness``: ``internal`` (nothing passed), ``generator`` (a torch or numpy generator), ``uniforms`` ([B, M] in [0, 1)), ``seeds`` ([B]).
    ``columns``: M as a function of N (default N); ``order``: the columns in the order the walk consumes them, bonus last (default: 1, 2, ..., 0).
    ``layout``: "draftproof" when node v's decision reads column v and the bonus column 0, as gpu_impl does; allows bracketing.
    ``uniforms_dtype``: "float32" (24-bit uniforms) or "float64".
    ``batched``: False when it takes one row at a time.
    ``rows_per_draft``: rows that are given one sampled draft tree; they count as one observation.
    ``overwrites``: names of arguments it overwrites on purpose.
    ``temperature``, ``top_k``, ``top_p``: processors it applies itself to the rows it is given.
    ``claims``: any of CLAIMS.
    """

    call: Callable[..., Any]
    name: str
    shape: Shape = "tree"
    family: str | None = None
    rows: Rows = "probs"
    dtype: str = "float32"
    framework: Literal["numpy", "torch"] = "torch"
    device: str = "cpu"
    randomness: Randomness = "internal"
    columns: Callable[[int], int] | None = None
    order: Callable[[int], Sequence[int]] | None = None
    layout: str | None = None
    uniforms_dtype: Literal["float32", "float64"] = "float32"
    batched: bool = True
    rows_per_draft: int = 1
    overwrites: tuple[str, ...] = ()
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    claims: tuple[str, ...] = ("lossless",)

    def __post_init__(self) -> None:
        choices = {
            "shape": ("tree", "chain"),
            "rows": ("probs", "log_probs", "logits"),
            "framework": ("numpy", "torch"),
            "dtype": ("float16", "bfloat16", "float32", "float64"),
            "randomness": ("internal", "generator", "uniforms", "seeds"),
            "uniforms_dtype": ("float32", "float64"),
        }
        for key, known in choices.items():
            if getattr(self, key) not in known:
                raise SubjectError(f"{self.name}: {key}={spelled(getattr(self, key)):.100} is not one of {', '.join(known)}")
        for key, (right, wanted) in SENSE.items():
            value = getattr(self, key)
            if value is not None and not right(value):
                raise SubjectError(f"{self.name}: {key}={spelled(value):.100} is not {wanted}")
        for claim in self.claims:
            if claim not in CLAIMS:
                raise SubjectError(f"{self.name}: unknown claim {claim!r}{among(claim, CLAIMS)}")
        if self.dtype == "bfloat16" and self.framework == "numpy":
            raise SubjectError(f"{self.name}: numpy has no bfloat16")
        if self.temperature is not None and self.rows == "probs":
            raise SubjectError(f"{self.name}: a temperature applies to logits or log_probs, not to probs")
        if self.family is not None:
            try:
                object.__setattr__(self, "family", family(self.family).name)
            except ValueError as error:
                raise SubjectError(f"{self.name}: {error}") from None

    @property
    def reference(self) -> Family | None:
        return None if self.family is None else FAMILIES[self.family]

    @property
    def lossy(self) -> bool:
        return "lossy" in self.claims

    def uniform_columns(self, nodes: int) -> int:
        """M for trees of ``nodes`` nodes (the root counted)."""
        return self.columns(nodes) if self.columns else nodes

    def consumption(self, nodes: int) -> list[int]:
        """Columns of the uniforms in the order the walk consumes them."""
        columns = self.uniform_columns(nodes)
        return list(self.order(nodes)) if self.order else [*range(1, columns), 0]


def tree(function: Callable[..., Any] | None = None, /, **declares: Any) -> Any:
    """Decorator: declare a tree-shaped subject, e.g. ``@tree(family="traversal", randomness="uniforms")``.

    It is called as ``function(tokens, parents, valid, target, declared, uniforms)`` with B trees of N nodes, node 0 their root:
    tokens, parents int64 [B, N], valid bool [B, N], target [B, N, V] (the row after each node), declared [B, N, V] (the row that each node was
    drafted from; None where drafts were not sampled), uniforms [B, M] (or ``generator``, or ``seeds`` [B], or nothing: ``randomness``).
    It returns blocks int64 [B, D + 1], the accepted drafts, one bonus token and then -1, and how many drafts were accepted, int64 [B].
    With ``batched=False`` it is called with B = 1.

    ``declares``: fields of ``draftproof.Subject`` (family, rows, dtype, framework, device, randomness, columns, order, layout, uniforms_dtype,
    batched, rows_per_draft, overwrites, temperature, top_k, top_p, claims, name); its help says what each means.  Raises SubjectError on
    a wrong one.  The function itself is returned unchanged.
    """
    return _decorate(function, {"shape": "tree", **declares})


def chain(function: Callable[..., Any] | None = None, /, **declares: Any) -> Any:
    """Decorator: declare a chain-shaped subject, e.g. ``@chain(family="token", rows="logits")``; ``declares`` as for ``tree``.

    It is called as ``function(drafts, declared, target, uniforms)`` with B chains of D drafts: drafts int64 [B, D], declared [B, D, V] (the row that
    each draft was sampled from; None where drafts were not sampled), target [B, D + 1, V], uniforms [B, M] as for ``tree``.
    It returns what a tree-shaped one returns.
    """
    return _decorate(function, {"shape": "chain", **declares})


def _decorate(function: Callable[..., Any] | None, declares: dict[str, Any]) -> Any:
    if function is None:
        return lambda later: _decorate(later, declares)
    subject_of(function, **declares)  # a wrong declaration is an error where it is written
    function.__draftproof__ = declares  # type: ignore[attr-defined]
    return function


def subject_of(function: Any, **overrides: Any) -> Subject:
    """A Subject from a Subject or a callable: its decorator's declarations, else what its signature shows, then ``overrides``."""
    if isinstance(function, Subject):
        require_known(Subject, function.name, overrides)
        return replace(function, **overrides)
    if not callable(function):
        raise SubjectError(f"{spelled(function)} is not callable")
    declares = {**_shown(function), **getattr(function, "__draftproof__", {}), **overrides}
    name = declares.pop("name", None) or f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', repr(function))}"
    return made(Subject, function, name, declares)


def made(kind: Callable[..., Made], function: Any, name: str, declares: dict[str, Any]) -> Made:
    """``kind``, a dataclass of subjects, of a function and what its author declares.  SubjectError where a declaration is misspelt or missing."""
    require_known(kind, name, declares)
    try:
        return kind(function, name, **declares)
    except TypeError as error:
        raise SubjectError(f"{name}: {error}") from None


def require_known(kind: Any, name: str, declares: dict[str, Any]) -> None:
    """SubjectError for a declaration that the dataclass ``kind`` has no field for."""
    known = [one.name for one in fields(kind) if one.name != "call"]
    for key in declares:
        if key not in known:
            raise SubjectError(f"{name}: unexpected keyword argument {key!r}{among(key, known)}")


def spelled(value: Any, how: Callable[[Any], str] = repr) -> str:
    """``repr`` or ``str`` of what an author's code gave, which may fail itself."""
    try:
        return how(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be printed>"


def _shown(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}
    given = [name for name in names if name not in ("uniforms", "generator", "seeds")]
    shown: dict[str, Any] = {"shape": "chain" if len(given) == 3 or given[:1] == ["drafts"] else "tree"}
    for kind in ("uniforms", "generator", "seeds"):
        if kind in names:
            return {**shown, "randomness": kind}
    return shown


def load(spec: str, transcript: Path | None = None) -> list[Subject]:
    """The subjects named by ``spec``: a built-in (``gpu_impl``, ``gpu_impl.traversal``), an engine's sampler (``transformers``, ``vllm``,
    ``vllm:module:callable``: see ``adapters``), ``module:callable``, ``path/file.py:callable`` or ``command:program --options`` that speaks JSON
    lines (``protocol``), each with or without ``@family``.
    A subject's name is a spec that loads it again.

    ``transcript``: for a command, append every line exchanged to this file.  Raises SubjectError when it cannot be imported or found, saying what
    is missing.
    """
    place, at, claimed = spec.partition("@")
    if at and not claimed:
        raise SubjectError(f"{spec!r} names no family after the @; known: {', '.join(FAMILIES)}")
    overrides = {"family": claimed} if claimed else {}
    if place.startswith("command:"):
        from .protocol import command_subject

        return [command_subject(place.removeprefix("command:"), name=spec, transcript=transcript, **overrides)]
    from . import adapters  # which import this module

    if adapters.named(place):
        return [subject_of(adapters.adapted(place, _find), name=spec, **overrides)]
    if place == "gpu_impl" or place.startswith("gpu_impl."):
        from .adapters.gpu_impl import verifiers

        suffix = spec[len(place) :]
        if ours := [one for one in verifiers() if place in ("gpu_impl", one.name)]:
            return [subject_of(one, name=one.name + suffix, **overrides) for one in ours]
        raise SubjectError(f"{place} is not in gpu_impl; it has {', '.join(one.name for one in verifiers())}")
    found = _find(place)
    try:
        return [subject_of(found, name=spec, **overrides)]
    except SubjectError as error:
        raise SubjectError(str(error) if spec in str(error) else f"{spec}: {error}") from None


def _find(place: str) -> Any:
    """What ``module:callable`` names."""
    module_name, colon, attribute = place.rpartition(":")
    if not colon or not module_name or not attribute:
        from . import adapters

        if place.endswith(".py"):
            raise SubjectError(f"{place!r} names no function: give {place}:callable{_among(_import(place))}")
        engines = ", ".join(adapters.ADAPTERS)
        forms = "module:callable, path/file.py:callable, either with @family after it"
        close = nearest(place, ["gpu_impl", *adapters.ADAPTERS])
        raise SubjectError(f"{place!r} is not a subject{close or ':'} give {forms}, gpu_impl, or an engine ({engines})")
    found: Any = _import(module_name)
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise SubjectError(f"{module_name} has no {attribute!r}{_among(found, part)}") from None
    return found


def _among(module: Any, wrong: str = "") -> str:
    """"; it has a, b": what is declared as a subject there, else its public functions; one that is spelled like ``wrong`` comes first."""
    own = {name: value for name, value in vars(module).items() if not name.startswith("_") and callable(value)} if hasattr(module, "__dict__") else {}
    declared = [name for name, value in own.items() if isinstance(value, Subject) or hasattr(value, "__draftproof__")]
    names = declared or [name for name, value in own.items() if getattr(value, "__module__", None) == getattr(module, "__name__", "")]
    names.sort(key=lambda name: name not in get_close_matches(wrong, names))
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"; it has {', '.join(names[:MOST_NAMES])}{more}" if names else ""


def loadable(name: str) -> bool:
    """Whether a subject's name is a spec for ``load``, not the name of something that was made on the spot."""
    from . import adapters

    place = name.partition("@")[0]
    built_in = place.startswith(("gpu_impl.", "command:"))
    return built_in or adapters.named(place) or (":" in place and "<" not in place and not place.startswith("__main__"))


def _import(module_name: str) -> Any:
    try:
        if module_name.endswith(".py"):
            return _from_file(Path(module_name))
        if "" not in sys.path and str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))  # a console script does not see the folder it is run in
        return importlib.import_module(module_name)
    except (KeyboardInterrupt, Hung):
        raise
    except BaseException as error:  # importing runs the author's code, which may do anything
        raise SubjectError(f"cannot import {module_name}: {type(error).__name__}: {error}") from error


def _from_file(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    if str(path.parent.resolve()) not in sys.path:
        sys.path.insert(0, str(path.parent.resolve()))  # as running it would: it may import its neighbours
    spec.loader.exec_module(module)
    return module
