"""SQL for data releases.

releases: finding releases, their jobs, and the entries whose images go into one
entry_rows: rows of entries, their measurements and their human ratings
judgement_rows: rows of evidence, labels, thresholds and rulings
streaming: a query's rows, fetched in batches
"""
