"""Human preference studies: statistics, text similarities, reports and file formats."""
