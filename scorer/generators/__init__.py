"""Generators that are handed in: files of strangers, read, confined and asked whether they hold the training images.

Fenced like ``scorer.extractors``: torch and ONNX are known in here alone, and the web edge imports none of it.
Importing :mod:`scorer.generators.sandbox.runner` needs neither: whatever touches a file happens in a process of its
own.
"""
