"""SVMs that are exactly optimal after every change: incremental and decremental learning, and twin vectors."""
