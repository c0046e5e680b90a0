"""Schemas of reviewing.

review_queue: flagged entries, labels and reviews
review_queue_views: how those responses are made
rulings: rulings, rebuttals and their impact
publication: the publication checklist and the act
"""
