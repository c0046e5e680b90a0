"""JSON routes of submissions.

submissions: submitting a zip, reading and cancelling entries
uploads: resumable uploads
submission_events: progress, by polling or as server-sent events
submission_files: the sprite sheet and attached code
receipts: the scores of an entry, signed, and the keys to check them by
"""
