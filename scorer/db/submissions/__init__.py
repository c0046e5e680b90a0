"""SQL for submissions.

submissions: submissions, their state and newest measurements
events: the history of a submission's states
waiting_times: what the expected time until a public score depends on
uploads: resumable uploads, every change guarded by the expected state
labels: decided and early labels
duplicates: equal zips and equal images
signing_keys: the keys with which the service signs receipts
"""
