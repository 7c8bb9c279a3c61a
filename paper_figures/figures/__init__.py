"""Figures 1 to 13 of the paper, one module each, every one with a function `draw(source)`."""
