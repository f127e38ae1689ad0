"""Judge a change manifest; pure."""

from screening.judgements import judge
from screening.policies import Policy
from screening.verdicts import Verdict, Violation

__all__ = ["Policy", "Verdict", "Violation", "judge"]
