"""Submissions: from the upload to the measurement, and who may see them.

uploads: resumable uploads: begin, resume, advance, finish, expire
reservations: the bytes of uploads under way that count in the quotas
open_uploads: uploads under way, found again after a reload, and their notes
upload_bytes: the bytes of uploads: parts in the blob store, joined into the zip
intake: admission before the bytes arrive, acceptance when they are stored
outcomes: results of jobs: check passed, rejected, measured, cancelled
progress: status events, place in the queue and stage
waiting_times: expected seconds until the public score
files: the stored zip and sprite sheet of a submission
access: who may see, review or rule on a submission
receipts: the scores of an entry and what they were measured with, as anybody may be shown them
signing_keys: signatures of the service that anybody can check, and the public keys to check them by
labels: decided and early labels, and whether they mean memorisation
"""
