"""Models that predict as C99: plain C files in ``source``, whose places are filled in."""
