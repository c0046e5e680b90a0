"""As with ``scorer.extractors``, torch and ONNX are imported only below this package, and the web edge imports none of
it. :mod:`scorer.generators.sandbox.runner` needs neither: a file is opened only in a separate process.
"""
