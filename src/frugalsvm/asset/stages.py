"""How the stages of the batch solver go, on the CPU and on devices: see `frugalsvm.asset.solve`."""

__all__ = ["CAREFUL_STEPS", "HEADS", "MAX_EXCESS", "MAX_SHARE", "NARROWER", "ROUGH", "WIDTHS"]

HEADS = ((4, 0.5), (16, 0.25), (64, 0.15))  # rows for each column, width of the loss
WIDTHS = (0.1, 0.03)
ROUGH = 0.05  # tolerance of all stages but the last
CAREFUL_STEPS = 4  # at the end, with one output
MAX_EXCESS = 2.0  # share of the objective that may come from smoothing, in units of the tolerance
NARROWER = 4  # times that the loss may be made narrower to get there
MAX_SHARE = 0.5  # larger samples than this share of all rows gain nothing
