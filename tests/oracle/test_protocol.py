"""Commands that speak JSON lines: examples in two languages are judged, and nothing that a command says or does takes the judge down."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftproof.oracle import SubjectError, check, protocol
from draftproof.oracle.catalogue import find
from draftproof.oracle.protocol import Command, Conversation, command_subject
from draftproof.oracle.subjects import load, loadable

EXAMPLES = Path(__file__).parents[2] / "examples" / "subjects"

PROGRAM = """
import json, os, sys, time
HELLO = {"shape": "chain", "randomness": "uniforms", "dtype": "float64"}

def first(tree, uniforms):
    row, below = tree["target"][0], 0.0
    for token, weight in enumerate(row):
        below += weight
        if uniforms[0] * sum(row) < below:
            return [token]

for line in sys.stdin:
    message = json.loads(line)
    if "draftproof" in message:
        answer = {"hello": HELLO}
    else:
        asked = message["verify"]
        blocks = [first(asked["trees"][number], uniforms) for number, uniforms in zip(asked["pick"], asked["uniforms"])]
        answer = {"blocks": blocks, "accepted": [0] * len(blocks)}
    {MISBEHAVES}
    print(json.dumps(answer), flush=True)
"""


def program(folder: Path, misbehaves: str = "pass", hello: str = "") -> str:
    """A command that emits one token a round, as it should, but for what ``misbehaves`` does before it answers."""
    path = folder / "program.py"
    text = PROGRAM.replace("{MISBEHAVES}", misbehaves)
    path.write_text(text.replace('"dtype": "float64"', f'"dtype": "float64", {hello}') if hello else text)
    return f"{sys.executable} {path}"


def said(folder: Path, misbehaves: str, *names: str) -> list[str]:
    report = check(f"command:{program(folder, misbehaves)}", names or ["chain-one-draft"], way="sample", time_limit=60)
    assert not report.errors or report.exit_code == 2
    return [failure.message for failure in report.errors]


def test_cpp_is_bracketed(tmp_path: Path) -> None:
    compiler = shutil.which("c++") or shutil.which("g++")
    if not compiler:
        pytest.skip("no C++ compiler here; continuous integration installs one")
    built, source = tmp_path / "block", EXAMPLES / "block_verification.cpp"
    subprocess.run([compiler, "-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-o", built, source], check=True)
    report = check(f"command:{built}")
    assert report.outcome == "conform", str(report)
    assert {verdict.way for verdict in report.verdicts if verdict.verdict == "exactness"} == {"bracket"}
    elsewhere = replace(load(f"command:{built}")[0], layout=None)  # as one with another use of its uniforms
    report = check(elsewhere, ["chain-one-draft"])
    assert report.outcome == "conform" and {verdict.way for verdict in report.verdicts if verdict.verdict == "exactness"} == {"integrate"}
    text = source.read_text()
    faulty, binary = tmp_path / "faulty.cpp", tmp_path / "faulty"
    assert "mass / (mass + 1 - capacity)" in text
    faulty.write_text(text.replace("mass / (mass + 1 - capacity)", "std::min(1.0, capacity)"))
    subprocess.run([compiler, "-std=c++17", "-o", binary, faulty], check=True)
    report = check(f"command:{binary}", ["chain-block"])
    assert report.outcome == "nonconform" and "chain-block --subject command:" in str(report)


def test_javascript_is_sampled_by_counts(tmp_path: Path) -> None:
    node = shutil.which("node") or shutil.which("nodejs")
    if not node:
        pytest.skip("no Node.js here; continuous integration installs it")
    source = EXAMPLES / "recursive_rejection.mjs"
    names = ["chain-one-draft", "tree-siblings", "tree-two-levels"]
    report = check(f"command:{node} {source}", names)
    assert report.outcome == "conform", str(report)
    assert {verdict.way for verdict in report.verdicts if verdict.verdict == "exactness"} == {"sample"}
    faulty, text = tmp_path / "faulty.mjs", source.read_text()
    assert "if (mass > 0)" in text
    faulty.write_text(text.replace("if (mass > 0)", "if (false)"))
    assert check(f"command:{node} {faulty}", ["tree-siblings"]).outcome == "nonconform"


def test_on_the_command_line(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "draftproof.cli", "check"]
    words = [*run, "--command", program(tmp_path), "--way", "sample", "--instance", "chain-one-draft", "--transcript", "lines.jsonl"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith("conform (1 of 1 only to 2e-2, by sampling) command:"), done
    assert (tmp_path / "lines.jsonl").read_text().startswith('> {"draftproof": 1}')
    for wrong in (run, [*words, "transformers"], [*run, "transformers", "--transcript", "x"], [*words[:-1], "no/such/folder"]):
        done = subprocess.run(wrong, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 2 and done.stderr.startswith("draftproof: ") and "Traceback" not in done.stderr


def test_its_name_loads_it_again(tmp_path: Path) -> None:
    spec = f"command:{program(tmp_path)}"
    assert loadable(spec)
    (subject,) = load(f"{spec}@token")
    assert subject.family == "recursive_rejection" and subject.randomness == "uniforms"


def test_a_command_is_not_enumerated(tmp_path: Path) -> None:
    """What it draws is drawn elsewhere: one script would look like the whole law."""
    report = check(f"command:{program(tmp_path)}", ["chain-one-draft"], way="enumerate")
    assert "cannot be read by enumerate: it runs in a process of its own" in report.errors[0].message


@pytest.mark.parametrize(
    ("misbehaves", "message"),
    [
        ("if 'blocks' in answer: sys.exit('out of memory')", "the command ended with exit status 1; the end of its standard error: out of memory"),
        ("if 'blocks' in answer: os.abort()", "the command died of SIGABRT"),
        ("if 'blocks' in answer: answer = {'error': 'no kernel for this shape'}", "said that it failed: no kernel for this shape"),
        ("if 'blocks' in answer: print('loading weights ...')", "answered loading weights ..., which is not JSON: there should be an object with"),
        ("if 'blocks' in answer: answer['blocks'] = answer['blocks'][1:]", "answered with blocks ="),
        ("if 'blocks' in answer: answer['blocks'][0] = [0.5]", "answered with 0.5 in blocks[0], not an integer"),
        ("if 'blocks' in answer: answer['blocks'][0] = []", "a block is at least one token"),
        ("if 'blocks' in answer: answer['blocks'][0] = [7]", "emitted [7, -1]: tokens must be below the vocabulary's 3"),
        ("if 'blocks' in answer: answer['accepted'][0] = None", "answered with null in accepted, not an integer"),
        ("if 'blocks' in answer: answer['time'] = 3", 'with "time", which nobody reads: there should be "blocks" and "accepted"'),
        ("if 'blocks' in answer: print('{\"blocks\": [], ' + json.dumps(answer)[1:]); answer = None", 'with "blocks" twice: there should be'),
        ("if 'blocks' in answer: print(); answer = None", "answered an empty line, which is not JSON"),
        ("if 'blocks' in answer: print(end=''); os.close(1); time.sleep(3)", "the command closed its standard output and was ended"),
        ("if 'blocks' in answer: os.kill(os.getpid(), 40)", "the command died of signal 40"),
        ("if 'blocks' in answer: print(json.dumps(answer))", "answered more than it was asked: "),
    ],
)
def test_misbehaviour_is_named(tmp_path: Path, misbehaves: str, message: str) -> None:
    (found,) = said(tmp_path, misbehaves)
    assert message in found


def test_a_crash_costs_one_instance(tmp_path: Path) -> None:
    crash = "if 'blocks' in answer and len(asked['trees'][0]['target'][0]) == 4: os._exit(3)"
    report = check(f"command:{program(tmp_path, crash)}", ["chain-one-draft", "chain-block", "chain-pairs"], way="sample", time_limit=60)
    assert [failure.instance for failure in report.errors] == ["chain-block"]
    assert {verdict.instance for verdict in report.verdicts} == {"chain-one-draft", "chain-pairs"}


def test_no_answer_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "ANSWER_LIMIT", 0.5)
    (message,) = said(tmp_path, "if 'blocks' in answer: time.sleep(100)")
    assert "did not answer within 0.5 s and was ended" in message


def test_no_answer_in_time_from_one_that_left_its_pipes_to_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killing it closes no pipe, so only the clock can end the wait; nothing is read into the next one's answers."""
    monkeypatch.setattr(protocol, "ANSWER_LIMIT", 2.0)
    start = time.monotonic()
    (message,) = said(tmp_path, "if 'blocks' in answer: time.sleep(20) if os.fork() == 0 else os._exit(3)")
    assert "did not answer within 2 s and was ended" in message and time.monotonic() - start < 15


def test_standard_error_may_be_endless_and_without_lines(tmp_path: Path) -> None:
    flood = "sys.stderr.write('x' * 10_000_000 + '\\nthe end'); sys.stderr.flush(); sys.exit(5)"
    conversation = Conversation(program(tmp_path, f"if 'blocks' in answer: {flood}"))
    with pytest.raises(SubjectError, match="exit status 5; the end of its standard error: the end"):
        conversation.ask({"verify": {"trees": [], "pick": [], "uniforms": []}}, ("blocks", "accepted"))
    assert len(conversation._said) <= protocol.KEPT_OF_STDERR


def test_a_line_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "LONGEST_LINE", 1 << 16)
    (message,) = said(tmp_path, "if 'blocks' in answer: print('x' * (1 << 20), end='', flush=True)")
    assert "answered a line of more than 65536 bytes and was ended" in message


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no_such_program_here", "cannot start no_such_program_here: No such file"),
        ("", "the command is empty"),
        ("'unfinished", "No closing quotation"),
        (f"{sys.executable} -c 'import sys; sys.exit(4)'", "the command ended with exit status 4"),
        (f"{sys.executable} -c 'print(1)'", 'answered 1, not an object with "hello"'),
    ],
)
def test_commands_that_do_not_start(command: str, message: str) -> None:
    with pytest.raises(SubjectError) as caught:
        load(f"command:{command}")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("hello", "message"),
    [
        ('"shape": "ring"', 'must say "shape"'),
        ('"randomness": "dice"', 'must say "randomness"'),
        ('"volume": 3', "'volume', which nobody reads"),
        ('"family": "telepathy"', "unknown verifier 'telepathy'"),
        ('"columns": True', '"columns" in its hello must be an integer from 1 to 4096'),
        ('"claims": "lossless"', '"claims" in its hello must be a list'),
        ('"claims": ["perfect"]', "unknown claim 'perfect'"),
        ('"dtype": "bfloat16"', "numpy has no bfloat16"),
        ('"dtype": [1]', "dtype"),
        ('"temperature": "hot"', "temperature='hot' is not a finite number"),
        ('"layout": "draftprof"', "layout='draftprof' is not"),
        ('"columns": 10**15', '"columns" in its hello must be an integer from 1 to 4096'),
        ('"rows_per_draft": "2"', "rows_per_draft='2' is not a number of rows"),
        ('"family": ["token"]', "family=['token'] is not the name of a family"),
    ],
)
def test_wrong_hellos(tmp_path: Path, hello: str, message: str) -> None:
    with pytest.raises(SubjectError) as caught:
        load(f"command:{program(tmp_path, hello=hello)}")
    assert message in str(caught.value)


def test_another_hello_the_second_time(tmp_path: Path) -> None:
    conversation = Conversation(program(tmp_path, hello='"rows_per_draft": os.getpid()'))
    conversation.hello()
    with pytest.raises(SubjectError, match="said another hello"):
        conversation.hello()


def test_transcript(tmp_path: Path) -> None:
    out = tmp_path / "lines.jsonl"
    subject = command_subject(program(tmp_path), "program", transcript=out)
    subject.call(np.zeros((2, 1), int), None, np.array([[[0.5, 0.5], [1.0, 0.0]]] * 2), uniforms=np.array([[0.25, 0.5], [0.75, 0.5]]))
    lines = out.read_text().splitlines()
    assert lines[0] == '> {"draftproof": 1}' and lines[3] == '< {"blocks": [[0], [1]], "accepted": [0, 0]}'
    asked = json.loads(lines[2][2:])["verify"]
    assert asked["pick"] == [0, 0] and asked["trees"] == [{"drafts": [0], "declared": None, "target": [[0.5, 0.5], [1.0, 0.0]]}]


def test_minus_infinity_is_null(tmp_path: Path) -> None:
    out = tmp_path / "lines.jsonl"
    subject = command_subject(program(tmp_path), "program", transcript=out)
    rows = np.array([[[0.0, -np.inf], [-1.5, -0.25]]])
    with pytest.raises(SubjectError):  # it cannot add
        subject.call(np.zeros((1, 1), int), rows[:, :1], rows, uniforms=np.zeros((1, 2)))
    (tree,) = json.loads(out.read_text().splitlines()[2][2:])["verify"]["trees"]
    assert tree == {"drafts": [0], "declared": [[0.0, None]], "target": [[0.0, None], [-1.5, -0.25]]}


class Scripted(Conversation):
    """A conversation with a command that answers with given lines."""

    def __init__(self, reply: str):
        super().__init__("scripted")
        self._reply = reply

    def ask(self, message: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
        return self._object(self._reply, keys)

    def _lost(self, how: str | None = None) -> str:
        return "ended"


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["blocks", "accepted", "counts", "error", "x"]), inner, max_size=3),
    max_leaves=12,
)
ROWS = np.zeros((1, 1), int), None, np.array([[[0.5, 0.5], [1.0, 0.0]]])


@settings(max_examples=1000, deadline=None)
@given(
    st.one_of(
        JUNK.map(json.dumps),
        st.text(max_size=40),
        st.tuples(JUNK, JUNK).map(lambda pair: json.dumps({"blocks": pair[0], "accepted": pair[1]})),
        st.lists(JUNK, max_size=3).map(lambda block: json.dumps({"blocks": [block], "accepted": [0]})),
        JUNK.map(lambda junk: json.dumps({"counts": junk})),
        st.lists(st.tuples(JUNK, st.integers(-2, 3)).map(list), max_size=3).map(lambda pairs: json.dumps({"counts": pairs})),
    ),
    st.booleans(),
)
def test_malformed_answers_are_errors(reply: str, counts: bool) -> None:
    """Arrays of integers for the judge to look at, or an error: never anything else."""
    verifier = Command(Scripted(reply), "chain", counts)
    try:
        blocks, accepted = verifier(*ROWS, **({} if counts else {"uniforms": np.zeros((1, 2))}))
    except SubjectError as error:
        assert str(error)
    else:
        assert blocks.dtype == accepted.dtype == np.int64 and blocks.shape[0] == accepted.shape[0] == 1


def test_counted_blocks_come_in_random_order() -> None:
    """Counts list equal blocks together; rows that were handed them in that order would not be independent."""
    verifier = Command(Scripted('{"counts": [[[0], 500], [[1], 500]]}'), "chain", True)
    blocks, _ = verifier(*(None if rows is None else np.repeat(rows, 1000, axis=0) for rows in ROWS))
    assert blocks.sum() + 1000 == 500 and 400 < (blocks[1:, 0] != blocks[:-1, 0]).sum() < 600


def test_nested_deeper_than_any_parser_goes() -> None:
    with pytest.raises(SubjectError, match="is not JSON"):
        Command(Scripted("[" * 100_000), "chain", False)(*ROWS, uniforms=np.zeros((1, 2)))


def test_rows_that_share_a_tree_are_sent_once(tmp_path: Path) -> None:
    instance = find("chain-pairs")
    out = tmp_path / "lines.jsonl"
    subject = command_subject(program(tmp_path), "program", transcript=out)
    check(subject, [instance], way="sample", time_limit=10)
    sent = [json.loads(line[2:]).get("verify", {}) for line in out.read_text().splitlines() if line.startswith("> ")]
    large = [message for message in sent if len(message.get("pick", ())) >= 4096]
    assert large and all(len(message["trees"]) <= instance.vocabulary**instance.depth for message in large)
