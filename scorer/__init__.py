"""The competition: rules, numbers, state and storage. Knows nothing of HTTP; only ``db`` contains SQL.

From the bottom up, each package importing only earlier ones (``docs/architecture.md``):

circuit_breaker, errors, identifiers, malloc, open_files, product_version, setting_types, settings, threads,
    unknown_settings:
    what all others use
lifecycle, extractor_catalogue, onnx_files: plain data about competitions, networks and generators
clamd: whether a scanner finds malware in an upload
monitoring: structured logs and Prometheus metrics
confinement: what a process gives up before it opens untrusted files; calls in such a process
archive, metrics, ranking, findings: zips to images; arrays to numbers; the order of a board; numbers to sentences
blobs: files by key, in a folder or S3
extractors, generators: images to features; uploaded ONNX files, read and searched in a sandbox
db: all SQL, under the names of the packages that use it
audit_log, backups, notifications: what organizers did; backups and restoring; notices, the outbox, webhooks
jobs: leases, the broker, the backlog
accounts, competitions, teams: people and tokens; competitions and reference sets; members, quotas, final picks
leaderboard, submissions: standings and the board cache; submissions from intake to outcome
personal_data: what people take along of what is stored about them, and the end of their account
tuning, review, evidence: thresholds and the private extractor; rulings and publication; signs of copying
rescoring: entries measured anew, beside what counts, until a switch
insights, import_export: figures of a whole competition; data releases and imported results
"""
