"""Jobs: pieces of work as rows, and the messages that announce them to workers.

broker: the Celery application; messages sent after the commit
message_sender: the thread that sends messages, so that no request waits for the broker
leases: queueing, claiming, renewing and finishing jobs
retries: jobs that are tried again, deferred, given back or failed; freeing expired leases
lease_sweep: freeing expired leases, but none that lapsed while the database was away
pauses: letting a queue, a competition or a worker take no jobs
failed_jobs: the backlog for organizers, and restarting a stuck job
queue_metrics: the load of the queues for Prometheus
"""
