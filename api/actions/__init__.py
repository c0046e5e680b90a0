"""Controller functions that JSON routes and pages share, where a request needs more than one call into :mod:`scorer`.

personal_data: a person's data as a file, and the end of their account
request_charges: what boards of the past, whole tables and new figures cost in the rate limits
uncertainty: how certain a board's ranks are, as JSON, computed once for everybody
second_factors: the second step of signing in
sign_in: signing up and in, passwords and mail addresses, with rate limits
right_clock: takes no entries while this process's clock is wrong
zip_uploads: one request, one submission
code_uploads: code attached to an entry
generator_uploads: a generator file of an entry
data_releases: starting a data release
paging: the pages of lists, newest first
stored_images: images of stored zips, which people look at
downloads: data files, streamed or redirected to the store
rescoring: deciding about a rescoring campaign
rating_seats: who rates in a study of human ratings
"""
