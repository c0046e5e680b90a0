"""Generators of entries: reading uploaded ONNX files, and auditing them. Torch and ONNX are imported only below this
package, and the web process imports nothing that needs them. :mod:`scorer.generators.sandbox.runner` needs neither: a
file is opened only in a separate process.
"""
