"""Who judges: reads the law of a subject, compares it with the reference and reports."""

from .catalogue import catalogue
from .check import check
from .report import Report
from .subjects import Subject, SubjectError, chain, tree

__all__ = ["Report", "Subject", "SubjectError", "catalogue", "chain", "check", "tree"]
