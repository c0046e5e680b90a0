"""Jobs: pieces of work as rows, and the messages that announce them to workers.

broker: the Celery application; messages sent after the commit
leases: queueing, claiming, renewing, finishing, retrying and failing jobs; the sweep
failed_jobs: the backlog for organizers, and restarting a stuck job
"""
