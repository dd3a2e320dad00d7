"""The peers of the comparison, by name; `base.py` shows how to write one."""

from benchmarks.comparison.peers.base import Peer, Task, log_uniform
from benchmarks.comparison.peers.kernels import SVM, XRFM, LiquidSVM
from benchmarks.comparison.peers.others import Linear, RealMLP
from benchmarks.comparison.peers.ours import Auto
from benchmarks.comparison.peers.trees import CatBoost, Forest, HistGradientBoosting, LightGBM, XGBoost

__all__ = ["PEERS", "Peer", "Task", "add_peer", "log_uniform"]

_ALL = (
    Auto(), HistGradientBoosting(), LightGBM(), XGBoost(), CatBoost(), Forest(), SVM(), XRFM(), LiquidSVM(), RealMLP(),
    Linear(),
)  # fmt: skip
PEERS = {peer.name: peer for peer in _ALL}


def add_peer(peer):
    """Compare with this one, too."""
    PEERS[peer.name] = peer
