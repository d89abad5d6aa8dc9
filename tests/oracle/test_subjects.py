"""Subjects: what a declaration may say, what a signature shows, and how a name on the command line is found."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from draftproof.oracle import Subject, SubjectError, chain, tree
from draftproof.oracle.faults import chains
from draftproof.oracle.subjects import load, loadable, subject_of


def verify(*arguments: Any) -> Any:
    """Not called here."""


@pytest.mark.parametrize(
    ("declares", "said"),
    [
        ({"shape": "star"}, "shape='star' is not one of tree, chain"),
        ({"rows": "probabilities"}, "rows='probabilities' is not one of probs, log_probs, logits"),
        ({"framework": "jax"}, "framework='jax' is not one of numpy, torch"),
        ({"dtype": "float8"}, "dtype='float8' is not one of"),
        ({"randomness": "dice"}, "randomness='dice' is not one of internal, generator, uniforms, seeds"),
        ({"claims": ("best",)}, "unknown claim 'best'; known: lossless, conditionally_optimal"),
        ({"dtype": "bfloat16", "framework": "numpy"}, "numpy has no bfloat16"),
        ({"temperature": 0.5}, "a temperature applies to logits or log_probs, not to probs"),
        ({"family": "telepathy"}, "unknown verifier 'telepathy'; known: predraw_follow, tree_exit"),
        ({"family": ["token"]}, "family=['token'] is not the name of a family"),
        ({"layout": "draftprof"}, "layout='draftprof' is not \"draftproof\""),
        ({"columns": 3}, "columns=3 is not a function of the number of nodes"),
        ({"batched": "no"}, "batched='no' is not True or False"),
        ({"rows_per_draft": 0}, "rows_per_draft=0 is not a number of rows"),
        ({"rows_per_draft": 1.5}, "rows_per_draft=1.5 is not a number of rows"),
        ({"rows": "logits", "temperature": float("inf")}, "temperature=inf is not a finite number"),
        ({"rows": "logits", "temperature": "hot"}, "temperature='hot' is not a finite number"),
        ({"top_k": "x"}, "top_k='x' is not a number of tokens"),
        ({"top_p": [1]}, "top_p=[1] is not a number above 0, up to 1"),
        ({"claims": "lossless"}, "claims='lossless' is not a tuple of claims"),
        ({"paint": "red"}, "test_subjects:verify: unexpected keyword argument 'paint'; known: name, shape, family"),
        ({"famly": "token"}, "test_subjects:verify: unexpected keyword argument 'famly'; did you mean 'family'? known: "),
        ({"call": print}, "test_subjects:verify: unexpected keyword argument 'call'"),
    ],
)
def test_wrong_declarations_say_what_is_known(declares: dict[str, Any], said: str) -> None:
    with pytest.raises(SubjectError) as caught:
        tree(**declares)(verify)
    assert said in str(caught.value) and "test_subjects:verify" in str(caught.value)


def test_families_by_alias() -> None:
    assert {alias: Subject(verify, "s", family=alias).family for alias in ("token", "block", "tev")} == {
        "token": "recursive_rejection",
        "block": "traversal",
        "tev": "tree_exit",
    }


def test_columns_and_the_order_they_are_consumed_in() -> None:
    plain = Subject(verify, "s", randomness="uniforms")
    assert plain.uniform_columns(4) == 4 and plain.consumption(4) == [1, 2, 3, 0]
    own = replace(plain, columns=lambda nodes: 2, order=lambda nodes: (0, 1))
    assert own.uniform_columns(4) == 2 and own.consumption(4) == [0, 1]


def test_decorators() -> None:
    @chain(family="token", rows="logits")
    def decorated(drafts: Any, declared: Any, target: Any) -> Any: ...

    @tree
    def plain(tokens: Any, parents: Any, valid: Any, target: Any, declared: Any) -> Any: ...

    assert (subject_of(decorated).shape, subject_of(decorated).rows, subject_of(decorated).family) == ("chain", "logits", "recursive_rejection")
    assert (subject_of(plain).shape, subject_of(plain).randomness) == ("tree", "internal")
    assert subject_of(decorated, family="block").family == "traversal"  # what is asked for now goes before what was declared


def test_what_a_signature_shows() -> None:
    def of_chain(drafts: Any, declared: Any, target: Any, uniforms: Any) -> Any: ...
    def of_tree(tokens: Any, parents: Any, valid: Any, target: Any, declared: Any, generator: Any = None) -> Any: ...
    def of_three(ids: Any, q: Any, p: Any, uniforms: Any) -> Any: ...
    def by_seeds(drafts: Any, declared: Any, target: Any, *, seeds: Any) -> Any: ...

    assert (subject_of(of_chain).shape, subject_of(of_chain).randomness) == ("chain", "uniforms")
    assert (subject_of(of_tree).shape, subject_of(of_tree).randomness) == ("tree", "generator")
    assert (subject_of(of_three).shape, subject_of(of_three).randomness) == ("chain", "uniforms")  # whatever they are called
    assert subject_of(by_seeds).randomness == "seeds"
    with pytest.raises(SubjectError, match="'verifier' is not callable"):
        subject_of("verifier")


def test_load_by_module_and_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_up_engine.py").write_text("class Engine:\n    @staticmethod\n    def verify(drafts, declared, target): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for spec in ("made_up_engine:Engine.verify", "made_up_engine.py:Engine.verify@block"):
        (subject,) = load(spec)
        assert subject.name == spec and subject.shape == "chain" and loadable(subject.name)
        assert subject.family == ("traversal" if "@" in spec else None)
    (fault,) = load("draftproof.oracle.faults.chains:always_accepts")
    assert fault == chains.always_accepts


def test_load_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "quits.py").write_text("raise SystemExit('no licence')\n")
    (tmp_path / "typo.py").write_text("def verify(:\n")
    (tmp_path / "number.py").write_text("number = 3\n")
    (tmp_path / "two.py").write_text("import draftproof\n\ndef helper(): ...\n\n@draftproof.chain\ndef verify(drafts, declared, target): ...\n")
    for spec, said in {
        "engine": "'engine' is not a subject: give module:callable",
        ":verify": "':verify' is not a subject",
        "no_such_module_anywhere:verify": "cannot import no_such_module_anywhere: ModuleNotFoundError",
        f"{tmp_path}/nothing.py:verify": "no file",
        f"{tmp_path}/quits.py:verify": "SystemExit: no licence",
        f"{tmp_path}/typo.py:verify": "SyntaxError",
        f"{tmp_path}/number.py:verify": "has no 'verify'",
        f"{tmp_path}/number.py:number": "3 is not callable",
        f"{tmp_path}/two.py": f"names no function: give {tmp_path}/two.py:callable; it has verify",
        f"{tmp_path}/two.py:verfy": "has no 'verfy'; it has verify",
        "draftproof.oracle.faults.chains:always_accepts@tokens": "unknown verifier 'tokens'",
        "draftproof.oracle.faults.chains:always_accepts@": "names no family after the @; known: predraw_follow",
        "gpu_impl.telepathy": "gpu_impl.telepathy is not in gpu_impl; it has gpu_impl.predraw_follow",
    }.items():
        with pytest.raises(SubjectError) as caught:
            load(spec)
        assert said in str(caught.value)


def test_built_in_names_load_themselves_again() -> None:
    pytest.importorskip("torch")
    ours = load("gpu_impl")
    assert len(ours) >= 4
    for subject in ours[:2]:
        assert loadable(subject.name)
        (again,) = load(subject.name)
        assert (again.name, again.family) == (subject.name, subject.family)


def test_names_that_cannot_be_loaded() -> None:
    assert not loadable("tests.x:case.<locals>.verify") and not loadable("__main__:verify") and not loadable("engine")
    assert loadable("transformers") and loadable("transformers@token") and loadable("a.b:c@block")
