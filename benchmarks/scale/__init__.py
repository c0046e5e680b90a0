"""A whole competition of 2019's shape, and a thousand at once (``make scale``): SCALE.md and the page on capacity.

arrivals: when which team hands in, from the released results of 2019
service_times: how long a worker takes for each job, as stored results have it
clock, clocked_web: a clock that is set, and the service's web application with it
messages: the message of each job, which may come late or be lost
worker_pools, simulation: workers who wait no real time, and a competition that is played with them
parts: the parts that ``make scale`` plays, each with a stored result of its own
measured: what a part shows: waits by hour, fairness, work, and what an entry costs the service
thousand, thousand_seeding, thousand_runs, thousand_section: a thousand competitions on the database alone
report, figure: SCALE.md and its figure
capacity, capacity_page: what so many competitions need, and the page of the documentation that says so
__main__: the command ``python -m benchmarks.scale``
"""
