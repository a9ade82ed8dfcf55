"""Human preference studies: statistics, text similarities, reports and file formats."""

__version__ = "0.1.0"
