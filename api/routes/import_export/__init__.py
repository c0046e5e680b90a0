"""JSON routes of data that comes from or goes to other places.

import_results: results of competitions held elsewhere
data_release: data releases and their files
"""
