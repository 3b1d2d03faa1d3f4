"""Plotly figures as plain JSON, one function per figure, drawn from analysis tables.

Colours are the player's CSS variables, so that one figure serves light and dark pages; the player puts the
values in. No figure carries a template, an array in binary form or a number that was not measured.
"""
