"""SQL for jobs.

job_queue: claiming the next job, leases, the fair order of waiting jobs, queue positions
failed_jobs: the backlog as operators see it: load of each queue, running and failed jobs
"""
