"""Reports to show: an ordinary one, one from a hostile subject, and one as large as they get."""

from collections.abc import Sequence
from functools import cache

from draftproof.oracle import Report, check
from draftproof.oracle.catalogue import find
from draftproof.oracle.faults import chains
from draftproof.oracle.report import Failure, NotJudged
from draftproof.oracle.shrink import shrink
from draftproof.oracle.verdicts import Verdict

HOSTILE = (
    "<script>window.broken = 1</script>",
    "</script></style></title><img src=x onerror='window.broken = 1'>",
    "\"'><svg onload=window.broken=1>",
    "--><iframe src=//example.com></iframe>",
    "]]>&lt;&#60;%3Cscript%3E",
    "\u202egnisrever\u2066",
    "nul\0l\x1b[31m\x7f\u200b\ufeff\u2028",
    "\ud800 alone",
    "Z" + "\u0301" * 500,
    "long " + "x" * 100_000,
    "::error file=a,line=1::forged\r\n::add-mask::x\n::stop-commands::y",
    "| a `b` *c* [d](javascript:e) @someone #1 $x$",
    "اسم",
)


@cache
def ordinary() -> Report:
    """One subject that is wrong, with its smallest instance, one that is right, one that crashes, one that is undecided."""
    report = check(chains.residual_is_target, [find("chain-one-draft"), find("chain-block")])
    failed = next(verdict for verdict in report.verdicts if verdict.outcome == "nonconform")
    report.shrunk.append(shrink(chains.residual_is_target, find("chain-one-draft"), failed).as_dict())
    right = Verdict("engine:right", "chain-block", "exactness", "conform", "enumerate", 1e-9, 1e-6, "lossless", "12 branches")
    report.verdicts += [right, Verdict("engine:slow", "chain-block", "exactness", "inconclusive", "sample", 0.1, 0.02, "not known", "900 blocks")]
    report.errors.append(Failure("engine:crash", "chain-block", "crashed: the process died of SIGSEGV"))
    report.not_judged.append(NotJudged("engine:right", "tree-siblings", "it takes chains"))
    return report


def hostile(texts: Sequence[str] = HOSTILE) -> Report:
    """Every text that a subject or a file can choose is one that would like to be more than text."""
    report = Report(settings={name: name for name in texts})
    for number, evil in enumerate(texts):
        laws = [{"prefix": evil, "reached": 1.0, "off": 0.5, "tokens": [[0, 0.5, 1.0], [1, 0.5, 0.0]]}]
        violation = {"prefix": evil, "token": 0, "emitted": evil, "should_be": evil}
        details = {"prefix_laws": laws, "not judged": {evil: evil}, "bound": evil, "expected_length": 1.5}
        for outcome in ("nonconform", "inconclusive", "conform"):
            subject = evil if outcome == "nonconform" else f"{number}{evil}{outcome}"
            report.put(Verdict(subject, evil, "exactness", outcome, evil, 0.5, 1e-6, evil, evil, (evil,), violation, details))
            report.put(Verdict(subject, evil, evil, outcome, "sample", 0.5, 1e-6, evil, evil, (evil,)))
        report.put(Verdict(evil, evil, "acceptance", "conform", "sample", 1.5, 2.0, evil, evil, details=details))
        report.put(Failure(evil, evil, evil))
        report.put(NotJudged(evil, evil, evil))
        report.about[evil] = {"file": evil, "line": 1, "device": evil, "card": evil, evil: [evil]}
        report.instances[evil] = {"vocabulary": 2, "target": {"": [1, 1], evil: [1, 1]}, "drafting": {"scheme": evil}, "name": evil}
        report.shrunk.append(
            {"subject": evil, "verdict": report.verdicts[-3].as_dict(), "instance": {evil: evil}, "drafts": 1, "minimal": True, "python": evil}
        )
    return report


def large(subjects: int = 20, instances: int = 44) -> Report:
    """Every subject wrong on a third of the instances, and half of them crashing."""
    report = Report(settings={"seed": 0})
    laws = [{"prefix": "", "reached": 1.0, "off": 0.1, "tokens": [[token, 0.1, 0.1] for token in range(12)]}]
    for one in range(subjects):
        subject = f"engine.module_{one}:verify"
        for place in range(instances):
            instance = f"instance-{place}"
            for kind in ("support", "exactness", "acceptance", "invariance"):
                wrong = kind == "exactness" and place % 3 == 0
                message = "at the root the next token should be 0 with probability 0.5; it is 0.35; total variation 0.15"
                details = {"prefix_laws": laws} if wrong else {"expected_length": 1.5, "bound": "2"}
                outcome = "nonconform" if wrong else "conform"
                report.put(Verdict(subject, instance, kind, outcome, "enumerate", 0.1, 1e-6, message, "12", details=details))
        if one % 2:
            report.put(Failure(subject, "instance-0", "crashed"))
    return report
