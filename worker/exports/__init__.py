"""Files made for people to download or rate.

parquet: tables as Parquet files with reproducible bytes
data_release: the ``release`` job: tables, images, data card, manifest
rating_images: the ``ratings`` job: the pictures of a rating study
"""
