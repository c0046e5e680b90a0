"""JSON routes of insights.

insights: figures of a whole competition, shared submissions
gallery: images of ranked entries
human_ratings: rating studies
"""
