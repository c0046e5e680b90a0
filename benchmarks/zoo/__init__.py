"""The zoo (``make zoo``): small generators that memorise or not, and which of them each test for copying detects.

trainings, entries, entry_cache, spaces, seeds: how a seed is made; outcomes: what is stored; detection, targets,
tables, page: what is shown.
"""
