"""Charts as plain data: positions that SVG templates draw.

shapes: rectangles and axis labels, which all charts use
scales: linear and logarithmic axes, round ticks
histogram: distances of one entry's images
strip_plot: labelled entries by distance, a strip for each label
distribution: distances of a track's entries by label
recovery_errors: errors of latent recovery by image group
captions: titles and sentences of the insight figures
figure_chart: what is drawn of a figure of a whole competition
insight_figures: those figures
export: those figures as SVG and CSV files
"""
