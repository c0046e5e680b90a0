"""Load on the real service, over loopback (``make load``): what it bears, and whether it keeps its word meanwhile.

reads_beside_uploads: board reads while large zips arrive and are scored
event_streams: a thousand event streams
last_hour, last_hour_plan, last_hour_findings, last_hour_section: the last hour of a competition in compressed time
held_attacks: how long a visitor waits while an attack is held open
soak: an hour in which memory stays flat
service: the service as ``kennel up`` runs it, in a temporary folder
participants, uploaders: people who hand in zips, by every way
stream_client: a reader of event streams
delayed_worker: the worker, with scores that take as long as those of real networks
machine_rates: what the machine does without the service
__main__: the command ``python -m benchmarks.load``
"""
