"""Ways to read the law of a subject, strongest first: enumerate, integrate, sample."""
