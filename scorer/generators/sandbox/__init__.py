"""The sandbox: a process without network, files or programs in which an uploaded generator is read and audited.

exchange: the files that go in and come out
landlock: which files the process may open
seccomp: which system calls the process may make
confinement: both of these, the network namespace, and resource limits
audit_task: what runs inside: reading, then auditing
child: the process's entry point
runner: starts the process and supervises it
"""
