"""Thin adapters that map verifiers people already run onto the native call shapes of ``oracle.subjects``."""
