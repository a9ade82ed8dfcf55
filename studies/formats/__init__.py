"""Reading and writing of study bundles and ratings files. Knows no Django."""
