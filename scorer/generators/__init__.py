"""Uploaded generators: reading ONNX files, latent recovery with them, and the sandbox in which both happen.

As with ``scorer.extractors``, torch and ONNX are imported only below this package, and the web edge imports none of
it. :mod:`scorer.generators.sandbox.runner` needs neither: a file is opened only in a separate process.

limits: caps on files, networks and the process
latents: latent spaces
onnx: from the bytes of an ONNX file to a torch module, without executing anything in the file
recovery: audits by latent recovery, and their reports
sandbox: the process without network, files or programs in which an audit runs
"""
