"""The commands of ``draftproof``, a file each: ``add`` puts it on the parser, ``run`` carries it out and returns the exit code.

Heavy imports are inside ``run``: ``--help`` pays for none of them.
"""

COMMANDS = ("init", "check", "explain", "law", "instances", "budget", "ceiling", "league", "precision", "prove", "report", "selftest", "vectors")
