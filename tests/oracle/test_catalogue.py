"""The catalogue: enough instances, asymmetric, each with a note, each fault kind covered."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from draftproof.oracle import check
from draftproof.oracle.catalogue import catalogue, find, suiting
from draftproof.oracle.faults import FAULTS, siblings
from draftproof.oracle.subjects import Subject
from draftproof.reference.instances import load


def test_size_and_order() -> None:
    instances = catalogue()
    assert len(instances) >= 25
    assert len({instance.name for instance in instances}) == len(instances)
    names = [instance.name.partition("-")[0] for instance in instances]
    assert names == sorted(names) and set(names) == {"chain", "tree"}
    assert all(instance.name.startswith("chain") == instance.is_chain for instance in instances)


def test_every_instance_says_what_it_is_for() -> None:
    for instance in catalogue():
        assert re.fullmatch("[A-O]+", "".join(instance.source["kinds"])) and len(instance.source["note"]) > 10
    kinds = Counter(kind for instance in catalogue() for kind in instance.source["kinds"])
    assert set("ABCDEFGHIKLMNO") <= set(kinds)


def test_every_instance_is_a_file_that_reads_back(tmp_path: Path) -> None:
    for instance in catalogue():
        path = tmp_path / "instance.json"
        path.write_text(json.dumps(instance.source))
        again = load(path)
        assert (again.name, again.vocabulary, again.topology) == (instance.name, instance.vocabulary, instance.topology)
        assert again.target(()) == instance.target(()) and again.scheme(again.topology, (), ()) == instance.scheme(instance.topology, (), ())


def test_find() -> None:
    assert find("chain-pairs") is find("chain-pairs")
    with pytest.raises(KeyError, match="no instance 'chain-pear' in the catalogue; known: chain-one-draft"):
        find("chain-pear")


def test_faults_show_on_instances_of_the_catalogue() -> None:
    names = {instance.name for instance in catalogue()}
    assert {fault.instance for fault in FAULTS if isinstance(fault.subject, Subject) and fault.instance != "bonus token"} <= names


def test_the_smoke_tier_puts_siblings_to_one_that_takes_trees() -> None:
    """A fault between siblings is invisible on chains."""
    names = [instance.name for instance in suiting(siblings.residual_not_updated, "smoke")]
    assert {"tree-siblings", "tree-siblings-with-replacement", "tree-ragged-by-draw"} <= set(names) and len(names) < 20
    assert check(siblings.residual_not_updated, ["tree-siblings"]).outcome == "nonconform"
