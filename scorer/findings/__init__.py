"""Findings: the quantities of the tests, each with unit, direction and a sentence for people. Pure.

finding: the type, and the significance level
formatting: shares and p-values as text
signs: which quantities are signs of copying, with the thresholds
summary: the evidence in one sentence, by a fixed rule
copying, duplicates, sample_quality, latent_recovery: the findings of each group of tests
generator_match, recovery_power, recovery_search: those of a generator audit beside latent recovery's own
"""
