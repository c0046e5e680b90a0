"""The sandbox: a process without network, files, programs or privileges reads and audits an uploaded generator.

exchange: the files that go in and come out
confinement: what the process gives up before it opens a file
audit_task: what runs inside: reading, then auditing
rehearsal: an audit of our own generator, which has everything imported before
child: the process's entry point
probe: which of these measures this system allows
runner: starts the process and supervises it
"""
