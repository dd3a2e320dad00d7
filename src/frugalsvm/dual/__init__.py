"""Online SVMs that work in the dual, with gradients and a duality gap."""
