"""Tuning: a track's threshold and the private track's extractor.

impact: penalties, ranks, medals and prizes that another tau changes, and the review that is left
impact_lists: the lists of an impact by pages, with names
thresholds: choosing tau by a method, previewing, recording and undoing the choice
effective_thresholds: which choices of tau stand, since no undo has taken them back
threshold_history: every choice of tau and which entries it penalised or freed
extractor_comparison: how well candidate extractors separate labelled entries
extractor_choice: replacing the private track's extractor by a new track
"""
