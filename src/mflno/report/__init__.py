"""Journal or study to figures and one self-contained page."""
