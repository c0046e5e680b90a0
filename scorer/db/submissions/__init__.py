"""SQL for submissions.

submissions: submissions, their state and newest measurements
events: the history of a submission's states, and what estimates of its progress need
uploads: resumable uploads, every change guarded by the expected state
labels: decided and early labels
duplicates: equal zips and equal images
"""
