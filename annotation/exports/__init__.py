"""Studies as files: the rows of every table, and the job that writes them."""
