"""Who judges: reads the law of a subject, compares it with the reference and reports."""

from .catalogue import catalogue
from .check import check
from .drafters import Drafter, drafter
from .generators import Generator, generator
from .judge_drafter import check_drafter
from .judge_generator import check_generator
from .judge_objective import check_objective
from .objectives import Objective, objective
from .report import Report
from .subjects import Subject, SubjectError, chain, tree

__all__ = [
    "Drafter",
    "Generator",
    "Objective",
    "Report",
    "Subject",
    "SubjectError",
    "catalogue",
    "chain",
    "check",
    "check_drafter",
    "check_generator",
    "check_objective",
    "drafter",
    "generator",
    "objective",
    "tree",
]
