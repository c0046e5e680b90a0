"""SQL for jobs.

job_queue: claiming the next job, leases, the fair order of waiting jobs, queue positions
pauses: queues, competitions and workers that take no jobs
rescoring_jobs: the jobs of rescoring campaigns
shown_track_jobs: the jobs that measure entries on shown tracks
sweeps: when leases were last looked at; extending those that lapsed meanwhile
worker_reports: what running workers say of themselves
failed_jobs: the load of each queue, running and failed jobs
"""
