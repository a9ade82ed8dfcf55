"""A server of two web hosts and three workers under faults."""
