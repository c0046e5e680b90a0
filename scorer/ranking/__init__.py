"""Ranking: the order of a board. Pure.

specification: the definition, entry by entry; the other forms are tested against it
columns: a track's entries as arrays, and the rules that judge them
judged_entries: those entries judged by the rules: scores, penalties, copies
vectorised: the same order computed by numpy, for a million entries
rank_moves: teams whose rank differs between two boards
awards: medals and prizes of a rank
uncertainty: standard errors of scores, intervals of ranks, probabilities of ranks
"""
