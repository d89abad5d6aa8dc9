"""Why a reading was not given."""


class Refused(Exception):
    """A reading that cannot be applied says so."""


class TooMuch(Refused):
    """It could be read, but for the time or the room that it takes."""
