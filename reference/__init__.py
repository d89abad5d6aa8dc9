"""What is right: exact, readable references of draft trees and their verifiers, in rational arithmetic.

Read in this order: ``laws``, ``chance``, ``models``, ``trees``, ``drafting``, one file of ``verifiers`` at a time,
``growth`` (what lossless means), ``exits``.  Nothing here imports torch or any other part of draftproof.
"""
