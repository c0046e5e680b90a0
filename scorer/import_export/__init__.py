"""Import and export: results of competitions held elsewhere, and data releases.

results_csv: reading a CSV of results, with faults by line and column
import_results: a table of results made into a competition without images
pseudonyms: pseudonyms of a data release
release_columns: the columns of the tables of a data release
release_tables: the rows of these tables, under pseudonyms
data_card: the data card and the manifest of a release
croissant: the metadata of a release, by which libraries find and read its tables
data_release: starting, reading and publishing releases
"""
