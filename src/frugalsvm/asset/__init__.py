"""ASSET: low-rank kernel machines over Nystroem or random Fourier features."""
