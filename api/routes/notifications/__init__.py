"""JSON routes of notifications.

notices: notices, and which of them are mailed
webhooks: webhooks and their deliveries
"""
