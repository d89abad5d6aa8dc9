"""The head of the page: the outcome before anything else."""

from collections import Counter
from collections.abc import Iterable

from ..items import NOT_TRIED
from ..plain_text import plain
from ..report import EXIT_CODES, WRONG, Report
from .elements import Child, Html, tag, text
from .figures import counted
from .results import Results

MARKS = {"conform": "✓", "nonconform": "✗", "inconclusive": "?", "error": "!", "not judged": "–"}
"""So that nothing is said by colour alone."""

PLAIN = {
    "conform": ("does what it claims", "do what they claim"),
    "nonconform": ("does not do what it claims", "do not do what they claim"),
    "inconclusive": ("could not be decided", "could not be decided"),
    "error": ("could not be judged", "could not be judged"),
}
"""Of one subject, and of several."""

MEANING = {
    "conform": "Nothing wrong was found, within the limits stated.",
    "nonconform": "Something is wrong, and it was shown to be.",
    "inconclusive": "Neither right nor wrong could be shown; give it more time or more blocks.",
    "error": "Something kept a subject from being judged; that is never a pass.",
}


def outcomes(report: Report) -> dict[str, str]:
    """The outcome of every subject.  One that has nothing but instances that did not suit it was not judged, which is an error here as anywhere."""
    return {subject: report.of(subject).outcome for subject in report.subjects}


def badge(outcome: str, said: str | None = None) -> Html:
    """An outcome as mark, word and colour."""
    return tag("span", tag("span", MARKS.get(outcome, ""), aria_hidden="true"), " ", said or outcome, class_=f"badge {shade(outcome)}")


def shade(outcome: str) -> str:
    """The class that colours an outcome."""
    return f"is-{outcome.replace(' ', '-')}"


def title(results: Results) -> str:
    """What the tab says: the outcome, and whose."""
    report = results.report
    if not results.runs:
        return "draftproof: comparison"
    only = f", {str(text(report.subjects[0], 60))}" if len(report.subjects) == 1 else ""
    return f"draftproof: {report.outcome}{only}"


def header(results: Results) -> Html:
    """Outcome, one sentence, counts."""
    bar = tag("div", tag("span", "draftproof", class_="brand"), _theme(), class_="bar")
    if not results.runs:
        return tag("header", bar, tag("h1", "Verifiers and budgets compared"))
    report = results.report
    heading = tag("h1", badge(report.outcome, report.said.capitalize()), " ", tag("span", _sentence(report), class_="sentence"))
    return tag("header", bar, heading, tag("p", MEANING[report.outcome], " ", _size(report), class_="lead"), *tiers(results))


def tiers(results: Results) -> Iterable[Html]:
    """On what was judged, above all where that was a smoke test only; whose, where it differs."""
    said = dict[tuple[str, str], list[str]]()
    for run in results.runs:
        if (found := _tier(run.report)) is not None:
            said.setdefault(found, []).extend(run.report.subjects)
    for (name, words), subjects in said.items():
        whose = f", {counted(len(subjects), 'subject')} ({', '.join(plain(one, 60) for one in subjects[:3])}{', …' * (len(subjects) > 3)})"
        yield tag("p", tag("strong", name), whose if len(said) > 1 else "", f": {words}", class_="tier is-inconclusive" if name == SMOKE else "tier")


SMOKE = "Smoke test only"


def _tier(report: Report) -> tuple[str, str] | None:
    """Name, and what it means; None where the report does not know, as of instances that were given one by one."""
    tier, lifts = report.settings.get("tier"), report.settings.get("lifts")
    if tier == "smoke":
        return SMOKE, "one instance for each kind of fault. Nothing is said of the rest of the catalogue, which --tier standard judges."
    if tier == "standard":
        left = [one for one in report.not_judged if one.message in NOT_TRIED]
        whole = not left and not any(one.message.startswith("interrupted: ") for one in report.errors)
        return "Standard tier", f"{'every instance' if whole else 'not every instance'} of the catalogue that suits the subject."
    if isinstance(lifts, list):
        return "Lifted", f"instances at real sizes: {plain(', '.join(map(str, lifts)), 200)}."
    return None


def _sentence(report: Report) -> Child:
    """How many subjects, and what of them; the name where there is only one."""
    found = outcomes(report)
    if not found:
        return "Nothing was judged"
    if len(found) == 1:
        ((subject, outcome),) = found.items()
        return [tag("code", text(subject, 120), class_="name"), f" {PLAIN[outcome][0]}"]
    counts = Counter(found.values())
    if not any(counts[outcome] for outcome in WRONG):
        return f"All {len(found)} subjects {PLAIN['conform'][1]}"
    first, *others = (f"{counts[outcome]} {{}}{PLAIN[outcome][counts[outcome] > 1]}" for outcome in WRONG if counts[outcome])
    said = [first.format(f"of {len(found)} subjects "), *(part.format("") for part in others)]
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)


def _size(report: Report) -> str:
    instances = len({verdict.instance for verdict in report.verdicts})
    ways = sorted({verdict.way for verdict in report.verdicts if verdict.verdict != "invariance"})
    read = f", read by {plain(', '.join(ways), 80)}" if ways else ""
    return f"{counted(len(report.verdicts), 'verdict')} on {counted(instances, 'instance')}{read}; exit code {EXIT_CODES[report.outcome]}."


def _theme() -> Html:
    """Three states, which the script makes work, and shows."""
    pressed = {name: "true" if name == "auto" else "false" for name in ("auto", "light", "dark")}
    choices = [tag("button", name.capitalize(), type="button", data_theme=name, aria_pressed=said) for name, said in pressed.items()]
    return tag("div", *choices, role="group", aria_label="Colours", class_="choice", id="theme", hidden=True)
