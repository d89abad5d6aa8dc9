"""The HTML page: what is in it, and that nothing in it is more than text.  What a browser makes of it is in test_page_in_browser."""

import base64
import copy
import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, reduce
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from draftproof.oracle import Report
from draftproof.oracle.annotations import annotations
from draftproof.oracle.annotations import summary as markdown_summary
from draftproof.oracle.budget_file import parse as budget
from draftproof.oracle.catalogue import catalogue, find
from draftproof.oracle.junit import junit
from draftproof.oracle.league import means, standing
from draftproof.oracle.page import elements, findings, page
from draftproof.oracle.page.exits import NoPicture, exits
from draftproof.oracle.page.figures import percent, short
from draftproof.oracle.page.results import ResultError, Results, _constant, _integer, decimal, load, of, put
from draftproof.oracle.report import Failure
from draftproof.oracle.verdicts import Verdict
from draftproof.reference.blocks import tree_law
from draftproof.reference.exits import coverage
from draftproof.reference.instances import Instance
from draftproof.reference.trees import merged

from .reports import HOSTILE, hostile, large, ordinary

pytestmark = pytest.mark.xdist_group("browser")  # the pages are made once, for the browser too

INVISIBLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
TAGS = set(
    "html head meta b link title style body header main footer section article a p h1 h2 h3 h4 div span code pre button form fieldset legend label "
    "input table caption thead tbody tr th td dl dt dd ul li details summary figure figcaption svg desc polyline circle text script".split()
)
URLS = {"href", "src", "action", "formaction", "srcset", "data", "poster", "xlink:href"}


class Read(HTMLParser):
    """Tags in order, with their attributes; texts; scripts and styles."""

    def __init__(self, document: str):
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts, self.inside, self.raw = list[str](), list[str](), dict[str, list[str]]()
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style", "title"):
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if self.inside and self.inside[-1] in ("script", "style"):
            self.raw.setdefault(self.inside[-1], []).append(data)
        else:
            self.texts.append(data)


def faults(document: str) -> list[str]:
    """What is wrong with a page."""
    read, found = Read(document), list[str]()
    found += [f"tag {tag}" for tag in {tag for tag, _ in read.tags} - TAGS]
    found += [f"attribute {name}" for _, given in read.tags for name in given if name.startswith("on") or name == "style"]
    found += [f"url {given[name]}" for _, given in read.tags for name in URLS & set(given) if not re.match(r"#|data:,$", given[name] or "")]
    found += [f"invisible {text!r}" for text in read.texts if INVISIBLE.search(text)]
    found += [f"invisible {value!r}" for _, given in read.tags for value in given.values() if value and INVISIBLE.search(value)]
    ids = Counter(given["id"] for _, given in read.tags if "id" in given)
    found += [f"id {name} {times} times" for name, times in ids.items() if times > 1]
    for _, given in read.tags:
        for attribute in ("aria-labelledby", "aria-describedby"):
            found += [f"{attribute} {given[attribute]}" for _ in "1" if attribute in given and given[attribute] not in ids]
        if (given.get("href") or "").startswith("#"):
            found += [f"link {given['href']}" for _ in "1" if (given["href"] or "")[1:] not in ids]
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch("h[1-6]", tag)]
    found += ["h1 is not first or not alone"] * (levels[:1] != [1] or levels.count(1) != 1)
    found += [f"h{high} after h{low}" for low, high in zip(levels, levels[1:], strict=False) if high > low + 1]
    counts = Counter(tag for tag, _ in read.tags)
    found += ["a table without caption or header"] * (counts["table"] != counts["caption"] or counts["table"] != counts["thead"])
    found += ["th without scope"] * any(tag == "th" and not given.get("scope") for tag, given in read.tags)
    pictures = [given for tag, given in read.tags if tag == "svg"]
    named = [given for given in pictures if given.get("role") == "img" and given.get("aria-labelledby") and given.get("aria-describedby")]
    found += ["svg without role, title or description"] * (len(named) < len(pictures))
    policy = next((given["content"] or "" for tag, given in read.tags if given.get("http-equiv") == "Content-Security-Policy"), "")
    found += [f"policy: {policy}"] * (not policy.startswith("default-src 'none'; ") or "unsafe" in policy or "http" in policy)
    for kind in ("script", "style"):
        blocks = read.raw.get(kind, [])
        hashes = {"sha256-" + base64.b64encode(hashlib.sha256(block.encode()).digest()).decode() for block in blocks}
        found += [f"{kind} {len(blocks)} times"] * (len(blocks) != 1) + [f"{kind} not in policy"] * any(one not in policy for one in hashes)
    return found


def words(document: str) -> str:
    return " ".join("".join(Read(document).texts).split())


def shown(report: Report) -> str:
    return page(of(report))


@cache
def hostile_page() -> str:
    return shown(hostile())


@cache
def large_page() -> str:
    return shown(large())


@cache
def ordinary_page() -> str:
    return page(everything())


def everything() -> Results:
    """A report, a league and a budget."""
    results = of(ordinary())
    played = standing(find("tree-siblings"))
    put(results, {"instances": [played.as_dict()], "means": [mean.as_dict() for mean in means([played, played])]}, "league.json")
    marginals, cost = [["3/4", "1/4"], [1, 0], [1, 0]], {"draft": "1", "verify": ["1", "3", "3", "3"]}
    put(results, budget({"marginals": marginals, "cost": cost, "nodes": 3}).answer(), "budget.json")
    return results


def test_it_says_what_is_wrong_where_how_sure_and_how_to_see_it_again() -> None:
    document = ordinary_page()
    assert faults(document) == []
    said = words(document)
    assert "1 of 4 subjects could not be judged, 1 does not do what it claims and 1 could not be decided" in said
    assert "at the root the next token should be 0 with probability 0.5; it is 0.35; total variation 0.15" in said
    assert "chain-one-draft and 1 more instance , at the root" in said.replace("instance, ", "instance , ")
    assert "Exact: every branch of the unmodified code was replayed. Total variation: 0.15, tolerance 1e-06." in said
    assert "draftproof law chain-one-draft --subject draftproof.oracle.faults.chains:residual_is_target" in said
    assert "instance = parse({'vocabulary': 2" in said and "nothing one step smaller fails" in said
    assert "crashed: the process died of SIGSEGV" in said and "it takes chains" in said
    assert "univer_transport" in said and "96.17%" in said, "the league"
    assert "tokens per unit of time" in said and "which loses" in said, "the budget"
    assert "seed" in said and "torch" in said and "CPython" in said


def test_nothing_from_outside_is_more_than_text() -> None:
    document = hostile_page()
    assert faults(document) == [] and len(document) < 1 << 20
    said = words(document)
    assert "<script>window.broken = 1</script>" in said and "\\u202egnisrever\\u2066" in said and "nul\\x00l\\x1b[31m" in said
    assert "100,005 characters" in said and "\\ud800 alone" in said and "اسم" in said
    assert document.encode(), "no lone surrogates"
    megabyte = shown(Report(errors=[Failure("y" * 1_000_000, "x" * 1_000_000, "z" * 1_000_000)]))
    assert faults(megabyte) == [] and len(megabyte) < 30_000


def unescaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "escape", lambda text: text)


def unescaped_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "_attribute", lambda key, value: f' {key}="{value}"' if value not in (None, False) else "")


def unescaped_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "text", lambda value, most=600, keep="": elements.Html(str(value)[:most]))


def invisible_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "plain", lambda value, most=2000, keep="": str(value)[:most])


def hash_of_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("draftproof.oracle.page._hash", lambda content: "sha256-" + "A" * 43 + "=")


def inline_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "code", lambda content, what: elements.tag("pre", content, onclick="copy()"))


def no_captions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "table", lambda caption, heads, rows: elements.tag("table", *(elements.tag("th", head) for head in heads)))


@pytest.mark.parametrize(
    "fault", [unescaped, unescaped_attributes, unescaped_message, invisible_kept, hash_of_something_else, inline_handler, no_captions]
)
def test_planted_faults_of_the_renderer_are_found(fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    try:
        document = shown(hostile([text for text in HOSTILE if len(text) < 1000]))
    except UnicodeEncodeError:
        return
    assert faults(document) != []


def test_a_large_run_is_a_page_of_moderate_size() -> None:
    document = large_page()
    assert faults(document) == []
    assert len(document) < 750_000, f"{len(document)} bytes for {20 * 44 * 4} verdicts"
    assert document.count("<article id=") == 30 and "20 subjects" in words(document)


def test_conform_and_nothing() -> None:
    right = shown(Report([Verdict("engine:right", "chain-block", "exactness", "conform", "enumerate", 1e-9, 1e-6, "lossless", "12 branches")]))
    assert faults(right) == [] and "What is wrong" not in right and "engine:right does what it claims" in words(right)
    several = shown(Report([Verdict(f"engine:{n}", "chain-block", "exactness", "nonconform", "sample", 0.1, 0.02, "m", "e") for n in range(9)]))
    assert "9 of 9 subjects do not do what they claim" in words(several) and several.count("Where, how sure, and how") == 9 - findings.MOST_OPEN
    nothing = shown(Report())
    assert faults(nothing) == [] and "Nothing was judged" in words(nothing) and "draftproof: error" in words(nothing)
    compared = Results()
    put(compared, {"instances": [], "means": []}, "league.json")
    assert faults(page(compared)) == []


def test_the_tier_is_said_at_the_top() -> None:
    def judged(subject: str, **settings: object) -> Report:
        return Report([Verdict(subject, "chain-block", "exactness", "conform", "enumerate", 1e-9, 1e-6)], settings=settings)

    head = words(shown(judged("engine:one", tier="smoke"))).partition("Subjects and verdicts")[0]
    assert "Smoke test only: one instance for each kind of fault." in head and "--tier standard judges" in head
    assert "Standard tier: every instance of the catalogue" in words(shown(judged("engine:one", tier="standard")))
    assert "Lifted: instances at real sizes: large, padded." in words(shown(judged("engine:one", lifts=["large", "padded"])))
    assert 'class="tier' not in shown(judged("engine:one")), "instances that were given are no tier"
    both = of(judged("engine:one", tier="smoke"))
    both.runs.extend(of(judged("engine:two", tier="standard")).runs)
    said = words(page(both))
    assert "Smoke test only, 1 subject (engine:one): " in said and "Standard tier, 1 subject (engine:two): " in said


@pytest.mark.parametrize("outcome", ["conform", "nonconform", "inconclusive", "error"])
def test_the_headline_is_the_outcome_of_the_report(outcome: str) -> None:
    of_verdict = "conform" if outcome == "error" else outcome
    report = Report([Verdict("engine:verify", "chain-block", "exactness", of_verdict, "sample", 0.1, 0.02, "m", "e")])
    if outcome == "error":
        report.errors.append(Failure("engine:verify", "", "crashed"))
    assert report.outcome == outcome
    assert re.search(rf'<h1>.*?badge is-{outcome}.*?{outcome.capitalize()}', shown(report))


def test_a_sampled_finding_says_how_sure_it_is() -> None:
    verdict = Verdict("engine:verify", "chain-block", "exactness", "nonconform", "sample", 0.1, 0.02, "m", "9 blocks")
    said = words(shown(Report([verdict], settings={"alpha": 1e-4})))
    assert "rejected with probability at most 0.0001 in the whole run" in said and "Exact" not in said


@pytest.mark.parametrize("instance", catalogue(), ids=lambda one: one.name)
def test_the_exit_law_adds_up(instance: Instance) -> None:
    """What is lost adds up to one; what is reached, to E[1 + coverage] over the draft trees."""
    found = exits(instance.source)
    assert sum(one.lost for one in found) == pytest.approx(1) and found[0].path == () and found[0].drafted == 1
    trees = tree_law(instance.topology, instance.scheme)
    mean = sum(float(share) * (1 + float(coverage(instance.target, merged(tree)))) for tree, share in trees.items())
    assert sum(one.reached for one in found) == pytest.approx(mean)


def test_an_instance_that_cannot_be_drawn_is_no_error() -> None:
    many = {"vocabulary": 9, "target": {"": [1] * 9}, "draft": {"": [1] * 9}, "drafting": {"scheme": "with_replacement", "children": [9]}}
    for source in ({}, {"vocabulary": 2, "target": {"": [1, 1]}, "drafting": {"scheme": "fixed", "tree": ["0 0"]}}, many):
        with pytest.raises(NoPicture):
            exits(source)


def test_numbers_are_never_rounded_to_what_they_are_not() -> None:
    assert [percent(share) for share in (1, 0.99999, 0, 1e-9, 0.5, 1 / 3, None)] == ["100%", "almost 100%", "0%", "<0.01%", "50%", "33.33%", "–"]
    assert [short(value) for value in (None, float("nan"), float("inf"), 0.123456)] == ["–", "not a number", "infinite", "0.1235"]
    assert [decimal(value) for value in ("17/10", "1/0", "x", None, "9" * 5000, 1.5)] == [1.7, None, None, None, None, 1.5]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("3", "neither a report"),
        ("[]", "neither a report"),
        ('{"verdicts": [], "errors": []}', "'outcome' is a required property"),
        ('{"outcome": "fine", "verdicts": [], "errors": []}', "outcome: 'fine' is not one of"),
        ('{"outcome": "conform", "verdicts": [{"subject": 1}], "errors": []}', "verdicts[0]"),
        ('{"means": 1, "instances": []}', "means: 1 is not of type 'array'"),
        ('{"curve": ["1"], "greedy": 3, "optimum": 0, "loss": "0"}', "no such size"),
    ],
)
def test_files_that_are_none(content: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(content)
    with pytest.raises(ResultError, match=re.escape(complaint)) as found:
        load([file])
    assert str(file) in str(found.value)
    with pytest.raises(ResultError, match="No such file"):
        load([tmp_path / "none"])


def test_what_we_write_is_what_the_schema_says() -> None:
    results = everything()
    assert len(results.runs) == len(results.leagues) == len(results.budgets) == 1
    report = ordinary()
    again = Report.from_dict(json.loads(report.to_json()))
    assert again.as_dict() == json.loads(report.to_json()) and again.outcome == report.outcome
    old = {key: value for key, value in report.as_dict().items() if key in ("draftproof", "outcome", "settings", "verdicts", "errors")}
    put(results, [json.loads(json.dumps(old))], "an older version, and a list of reports as budget check writes it")
    assert faults(page(results)) == []


JUNK = (None, True, -1, 2.0, 1e308, float("inf"), float("nan"), 10**400, "", "1/0", "\0", "</script>", [], [None], {}, {"": 1}, "9" * 5000)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


@pytest.mark.parametrize("number", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_damaged_files_are_refused_or_shown(number: int) -> None:
    """One entry anywhere is lost or replaced by junk: the file is refused with a reason, or page, JUnit and annotations are as they should be."""
    whole = everything()
    sound = [json.loads(ordinary().to_json()), *(one for _, one in [*whole.leagues, *whole.budgets])]
    rng, outcomes = random.Random(0), Counter[str]()
    for _ in range(number):
        damaged = copy.deepcopy(rng.choice(sound))
        *above, last = rng.choice(list(places(damaged))[1:])
        part = reduce(lambda value, key: value[key], above, damaged)
        if rng.random() < 0.2:
            del part[last]
        else:
            part[last] = rng.choice(JUNK)
        results = Results()
        try:
            put(results, json.loads(json.dumps(damaged), parse_constant=_constant, parse_int=_integer), "damaged")
        except ResultError as error:
            assert 10 < len(str(error)) < 400
            outcomes["refused"] += 1
            continue
        assert faults(page(results)) == []
        junit(results.report), annotations(results.report), markdown_summary(results.report)
        outcomes["shown"] += 1
    assert min(outcomes["refused"], outcomes["shown"]) > number / 10


def test_hostile_texts_are_all_different() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE)
