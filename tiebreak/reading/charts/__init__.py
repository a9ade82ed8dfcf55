"""Charts as SVG: every chart of every page is drawn here, on axes from `axes.py`."""
