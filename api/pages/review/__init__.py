"""Pages of reviewing.

review_queue: the queue of flagged entries, and an entry with all that helps to judge it.
publication: the checklist before the final board is published, and the publication itself.
code_requests: asking a team for its code.
"""
