"""Judge real verifiers end to end: the rejection sampler shipped in transformers, our batched verifiers, and planted faults.

Prints one table, explains every rejection, and writes out/report.json.  Succeeds when the real verifiers conform and the faults do not.
"""

import sys
import time
from pathlib import Path

from rich.console import Console

import draftproof
from draftproof.oracle.catalogue import find
from draftproof.oracle.faults import FAULTS
from draftproof.oracle.report import Report
from draftproof.oracle.report_table import table
from draftproof.oracle.report_text import lines
from draftproof.oracle.subjects import load

PLANTED = ("residual_not_updated", "uniform_of_test_reused", "block_with_token_residual")


def main() -> int:
    console, report, start = Console(), Report(), time.monotonic()
    planted = {fault.subject.name: fault for fault in FAULTS if fault.name in PLANTED}
    expected = dict.fromkeys(planted, "nonconform")
    for subject in [*load("transformers"), *load("gpu_impl"), *(fault.subject for fault in planted.values())]:
        instances = [find(planted[subject.name].instance)] if subject.name in planted else None
        with console.status(f"judging {subject.name}"):
            report.add(draftproof.check(subject, instances, time_limit=600))  # a busy machine changes nothing
    console.print(table(report, expected))
    for name in report.subjects:
        if report.of(name).outcome != "conform":
            console.print("", *lines(report.of(name)), sep="\n", markup=False, highlight=False, soft_wrap=True)
    Path("out").mkdir(exist_ok=True)
    Path("out/report.json").write_text(report.to_json() + "\n", encoding="utf-8")
    unexpected = [name for name in report.subjects if report.of(name).outcome != expected.get(name, "conform")]
    as_expected = len(planted) == len(PLANTED) and not unexpected
    seconds = time.monotonic() - start
    verdict = "as expected" if as_expected else f"NOT as expected: {', '.join(unexpected)}"
    console.print(f"{verdict}, {seconds:.0f} s; the whole report is in out/report.json")
    return 0 if as_expected else 1


if __name__ == "__main__":
    sys.exit(main())
