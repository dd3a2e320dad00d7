"""Budgeted learners as C99: put together from the plain C files in ``source``, one for each part.

``plan.py`` says what of a fitted model a device needs, and refuses what it cannot have; ``parts.py`` which files make a
kernel, a loss, a schedule or a policy; ``writing.py`` puts them together; ``state.py`` reads and writes the bytes of a
state.
"""
