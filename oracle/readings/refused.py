"""Why a reading was not given."""


class Refused(Exception):
    """A reading that cannot be applied says so."""
