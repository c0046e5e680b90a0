"""Delivery of notices outside the site.

mail: sends the mails in the outbox
ssrf_guard: which addresses a webhook may lead to
webhook_delivery: posts signed notices to webhooks
"""
