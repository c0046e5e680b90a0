"""The sandbox: a process without network, files or programs in which an uploaded generator is read and audited.

exchange: the files that go in and come out
confinement: what the process gives up before it opens a file
audit_task: what runs inside: reading, then auditing
child: the process's entry point
probe: which of these measures this system allows
runner: starts the process and supervises it
"""
