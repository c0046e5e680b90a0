"""The view layer of the pages: templates, formatting, charts.

templates: the Jinja environment, page headers, static files and error pages
formatting: times, numbers and names as pages show them
badge: a team's place as a small SVG
bibtex: how to cite a competition or an entry
atom: announcements as a feed
markdown: organizers' Markdown as safe HTML
timeline: a competition's phases with their times
quota: a team's remaining entries as a sentence
charts: figures as positions for SVG templates
"""
