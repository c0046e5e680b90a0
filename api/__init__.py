"""The web edge: JSON routes, HTML pages and the kaggle client's protocol over :mod:`scorer`.

routing: the router of each module
http: HTTP itself: dependencies, cookies, CSRF, uploads, ranges, streams, problem details
oidc: signing in with an OpenID Connect issuer
openapi: the OpenAPI document, made of routes and what they do not tell
schemas: pydantic requests and responses of the JSON routes
rendering: templates, Markdown, numbers and times, charts
actions: what JSON routes and pages do alike
routes: the JSON API
pages: the HTML pages
kaggle: the subset of Kaggle's API that its client needs
readiness: whether the process can do its work
error_handlers: errors as problem details or error pages
main: builds the application
"""
