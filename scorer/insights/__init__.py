"""Insights: a whole competition in figures, images and human ratings.

overview: the entries of a competition as columns, as an account may see them
figures: the figures of Bai et al. 2021 as data
figure_summaries: statistics of figures, by label and over all rows
shown_tracks: the figure of a number that is shown and not ranked
gallery: sample images of ranked submissions; submissions shared between teams
human_ratings: rating studies: images and grids rated 1 to 5 by people
"""
