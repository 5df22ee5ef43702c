"""Figures, and one self-contained page, of a campaign or a study."""

from mflno.report.figures import save_figure
from mflno.report.html import page_text, write_page
from mflno.report.writing import Written, write_report

__all__ = ["Written", "page_text", "save_figure", "write_page", "write_report"]
