"""HTTP for routes and pages alike: what they depend on, and what they read and send.

dependencies: FastAPI dependencies: transactions, the caller and their rights, stores, the time
transactions: the transaction of a request
session_cookies: the session cookie
local_paths: paths of this site: where to lead a person on to, and what is open before a second factor is set up
csrf: CSRF tokens, and refusal of cross-site requests
forms: URL-encoded forms of pages
multipart: streaming forms with a file
tus: headers and refusals of resumable uploads
problem_details: error bodies (RFC 9457) and the table of statuses
etags: weak ETags and If-None-Match
response_cache: rendered bodies by ETag
ranges: range requests for files and zips
server_sent_events: event streams of submissions
client_address: the visitor's address, on a trusted proxy's word
request_bodies: limits on the size, the time and the number of request bodies
concurrent_requests: a limit on the requests that an account has in progress
server_protocol: limits on the time and size of headers, and on answers that nobody takes
security_headers: headers that every answer has, and those of files
access_log: one line for each request, its id and its metrics
log_redaction: secrets in addresses kept out of logs and spans
"""
