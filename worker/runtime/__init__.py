"""The runtime of jobs: worker context, heartbeat, preemption, progress, decoded images, start-up checks, liveness.

context: settings, connections and loaded extractors of a process
progress: the type of progress callbacks
heartbeat: the thread that renews a job's lease
recording: the transaction that records a result, repeated while the database is busy or away
outages: tasks end in one line while the database or the blob store is away
preemption: background jobs yield to public scoring
decoded_images: decoded submissions in the scratch folder
health: when a worker on which jobs have failed claims nothing
scratch: the check of the folder in which images are decoded
device_turns: the processes of a worker compute on its device one at a time
process_locks: locks among the processes of one worker
device_probe: whether a new process can compute on a GPU
device_loss: a lost GPU ends the process
self_test: what is wrong with a worker
liveness: the file that workers and beat touch while they do their work
consumption: ends a worker that is idle while messages wait for it
malformed_messages: messages that are no messages end no worker
worker_report: what a worker reports of itself to the database, every minute
beat_scheduler: a clock that is set back stops no periodic task
startup: the checks before a scoring worker takes jobs
"""
