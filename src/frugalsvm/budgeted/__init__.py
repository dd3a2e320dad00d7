"""Floor 2: learners that keep a fixed number of support vectors."""
