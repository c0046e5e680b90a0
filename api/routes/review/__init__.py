"""JSON routes of reviewing.

review_queue: flagged entries, what helps to judge them, and reviews
reviews: decided labels and early labels
rulings: rulings, rebuttals and their impact
publication: the publication checklist and the act
"""
