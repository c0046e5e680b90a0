"""Pages about a competition as a whole.

insights: figures and the gallery.
human_ratings: studies of image quality: the organizers' page, and the page on which people rate.
"""
