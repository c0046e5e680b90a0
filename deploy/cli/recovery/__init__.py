"""``kennel recover``: latent recovery on a generator without a server.

command: the command and its options, without torch.
files: reads the files and runs the audit in the sandbox.
"""
