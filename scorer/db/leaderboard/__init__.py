"""SQL for boards.

scores: the judged score of every entry: measurements joined with thresholds, rulings and merges
columns: a track's entries as numpy columns, and the rules they are judged by
board: names, counts and reasons that a board shows, scores of single entries
final_picks: a team's final picks
standard_errors: standard errors of FIDs, and entries that share images
changes: the change feed
shown_tracks: numbers that are shown and not ranked, and their values by entry
binary_copy: a query's rows as numpy arrays
"""
