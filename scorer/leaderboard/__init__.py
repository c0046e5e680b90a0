"""The leaderboard: measurements judged and ranked whenever a board is read.

board_cache: ranked boards kept in the web process, dropped when the change feed reports a change
cached_boards: what is kept of one competition, from the entries' columns to ranked boards
board_snapshots: what names a board, and the state of a competition that its boards depend on
past_boards: boards of past moments, made beside those of now
team_counts: how many teams have a rank, of many competitions at once
team_names: the names of its teams, for searching
rows: the rows of a track's board, from the cache or the database
board: what a board shows, as plain data
board_access: who may see which board, of which moment
standings: a page of a board for a viewer, its version for ETags, boards of past moments
board_reader: what stands beside the ranking's rows: names, labels, shown values, reasons
rank_changes: teams whose rank changes, with their names
board_versions: the versions of the private board that were published, and whose rank differs between them
all_places: every place of a board as columns, for CSV
uncertainty: how certain ranks are: standard errors, intervals of ranks, probabilities of medals
explanations: the sentence that says why a score is what it is
submission_scores: the judged measurements of one submission
"""
