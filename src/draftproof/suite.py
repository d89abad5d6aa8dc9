"""``@draftproof.conformance``: a verifier as tests of pytest, one for each instance and verdict.

    @draftproof.conformance(family="token")
    def test_my_verifier():
        from my_engine import verify
        return verify

The function is called once, when pytest collects it, and returns the verifier: a callable, a Subject, or a name as on the command line.
"""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draftproof.oracle import Report, Subject

VERDICTS = ("support", "exactness", "acceptance", "invariance")
SUBJECT = "subject"
"""In place of a verdict, where there is nothing to judge."""


@dataclass
class Conformance:
    """What ``conformance`` was given, and what has been judged so far: an instance is judged once for all its verdicts."""

    provide: Callable[[], Any]
    tier: str
    alpha: float
    settings: dict[str, Any]
    declares: dict[str, Any]
    _judged: dict[str, "Report"] = field(default_factory=dict)

    @property
    def is_method(self) -> bool:
        return "." in self.provide.__qualname__.rpartition("<locals>.")[2]

    @cached_property
    def subject(self) -> "Subject":
        """Raises SubjectError, or whatever the function raises."""
        from draftproof.oracle.subjects import SubjectError, load, subject_of

        if self.is_method:
            raise SubjectError(f"{self.provide.__qualname__}: conformance decorates functions, not methods: move it out of its class")
        given = self.provide()
        subjects = load(given) if isinstance(given, str) else [given]
        if len(subjects) != 1:
            raise SubjectError(f"{given} names {len(subjects)} subjects; give one")
        return subject_of(subjects[0], **self.declares)

    @cached_property
    def instances(self) -> list[str]:
        """Names of the catalogue's instances that suit the subject; for the smoke tier the first of every kind of fault."""
        from draftproof.oracle.catalogue import suiting

        return [instance.name for instance in suiting(self.subject, self.tier)]

    def judge(self, instance: str) -> "Report":
        """The report on one instance, which spends its share of alpha."""
        from draftproof.oracle import check

        if instance not in self._judged:
            alpha = self.alpha / len(self.instances)
            self._judged[instance] = check(self.subject, [instance], alpha=alpha, **self.settings)
        return self._judged[instance]

    def complaint(self, instance: str, verdict: str, test: str) -> str | None:
        """What keeps the verdict on the instance from being conform, each thing once, and how to see it again; None when it is conform.

        ``test``: the id of the test, the way back to a verifier that has no name elsewhere.
        """
        from draftproof.oracle.report import Failure
        from draftproof.oracle.report_text import alone, see_again

        report = self.judge(instance)
        found = [one for one in report.verdicts if one.verdict == verdict]
        if report.errors:
            item: Any = report.errors[0]
        elif not found:
            item = Failure(self.subject.name, instance, f"no verdict on {verdict}")
        elif found[0].outcome == "conform":
            return None
        else:
            item = found[0]
        if self.spelled is None:
            return alone(item, shlex.join(["python", "-m", "pytest", test]))
        item = replace(item, subject=self.spelled)
        return alone(item, see_again(item, report.settings), smaller=True)

    @property
    def spelled(self) -> str | None:
        """The subject as a command line finds it from here; None where it does not, as what a test declares is not in its name."""
        from draftproof.oracle.subjects import loadable

        module, _, name = self.subject.name.partition(":")
        if not loadable(self.subject.name) or set(self.declares) - {"family"}:
            return None
        file = getattr(sys.modules.get(module), "__file__", None)
        if file and "." not in module and Path(file).parent != Path.cwd() and Path(file).is_relative_to(Path.cwd()):
            module = str(Path(file).relative_to(Path.cwd()))  # pytest finds tests/module.py as a module, others do not
        family = self.declares.get("family")
        return f"{module}:{name}{'' if family is None or '@' in name else f'@{family}'}" if name else self.subject.name

    def known(self, instance: str, verdict: str) -> str:
        """What a conform verdict rests on where that is sampling; empty elsewhere."""
        from draftproof.oracle.report import sampled_only

        found = [one for one in self.judge(instance).verdicts if one.verdict == verdict]
        said = sampled_only(found)
        return f"{verdict} on {instance}: conform{said}" if said else ""


def conformance(
    *,
    tier: str = "standard",
    alpha: float = 1e-6,
    way: str | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    time_limit: float = 120.0,
    strict: bool = False,
    **declares: Any,
) -> Callable[[Callable[[], Any]], Callable[..., None]]:
    """Decorator: a function that returns a verifier becomes one test for each instance and verdict.

    ``tier``: "standard", every instance that suits it, or "smoke", one for each kind of fault.  ``alpha``: bound on the probability that sampling
    fails a lossless verifier in any of the tests.  ``way``, ``tolerance``, ``seed``, ``time_limit``, ``strict``: as for ``check``.  ``declares``:
    fields of ``Subject`` (family, claims, device, dtype, ...) that go before what the verifier itself declares.

    Tests fail on nonconform, inconclusive and error alike, a missing device or engine included, unless listed in the file that
    ``--draftproof-xfails`` (or the ini option ``draftproof_xfails``) names.  Settings and declarations that make no
    sense are one test that fails too: the others of the file run.
    """
    settings = {"way": way, "tolerance": tolerance, "seed": seed, "time_limit": time_limit, "strict": strict}

    def decorated(provide: Callable[[], Any]) -> Callable[..., None]:
        judged = Conformance(provide, tier, alpha, settings, declares)

        def test(draftproof_instance: str, draftproof_verdict: str, request: Any) -> None:
            import pytest

            if draftproof_verdict == SUBJECT:
                pytest.fail(f"nothing can be judged: {draftproof_instance}", pytrace=False)
            if complaint := judged.complaint(draftproof_instance, draftproof_verdict, request.node.nodeid):
                pytest.fail(complaint, pytrace=False)
            if known := judged.known(draftproof_instance, draftproof_verdict):
                print(known)  # pytest -rP shows it

        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(test, name, getattr(provide, name))
        test.__draftproof_conformance__ = judged  # type: ignore[attr-defined]
        return staticmethod(test) if judged.is_method else test

    return decorated


def cases(judged: Conformance) -> Sequence[tuple[str, str]]:
    """(instance, verdict) of every test; one test (why, SUBJECT), which fails, where the subject cannot be had: an engine that is not installed
    costs its own test, which the file of known failures may list, and not the run.
    """
    from draftproof.oracle.items import require_sense, said

    try:
        settings = judged.settings
        require_sense(judged.alpha, settings["tolerance"], settings["time_limit"], settings["way"], settings["seed"])
        instances = judged.instances
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the author's code may raise anything; that it skips itself must not skip the file
        return [(said(error).removeprefix("raised "), SUBJECT)]
    if not instances:
        return [("no instance of the catalogue suits this verifier", SUBJECT)]
    return [(instance, verdict) for instance in instances for verdict in VERDICTS]
