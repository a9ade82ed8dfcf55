"""The systems of a dataset whose texts are made here: a model, a prompt and how it is decoded."""
