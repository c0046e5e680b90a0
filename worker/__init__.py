"""The Celery workers: they take jobs from queues, one at a time, and do what a request must not wait for.

app: the Celery application
beat: that of the process which sends what is due
tasks: the tasks; a message names a queue, the rows say which job
dispatch: claims the next job of a queue and calls the function for it
runtime: what every job uses: context, heartbeat, preemption, decoded images
scoring: check, prepare, score and compare submissions
evidence: tests for copying, and generator audits
exports: data releases and the images of rating studies
delivery: mails and webhooks
maintenance: the sweep and the cleanup
"""
