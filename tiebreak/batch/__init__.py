"""Work on whole files without a server: texts are sampled, scored, drawn and judged in batches."""
