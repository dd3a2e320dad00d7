"""What the commands say: pages, lines of progress, outcomes, and sentences with flags."""
