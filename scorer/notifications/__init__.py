"""Notifications: notices on the site, by mail and by webhook.

notices: notices to an account, a team or all of a competition; which kinds are mailed
outbox: mails as rows until a server has taken them
smtp: sending a mail by SMTP
webhooks: registered webhooks and their deliveries
webhook_signing: the headers by which a receiver verifies a delivery
"""
