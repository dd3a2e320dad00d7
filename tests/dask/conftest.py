"""What tests on a cluster share."""

import pytest


@pytest.fixture(scope="module")
def client():
    """A cluster inside of this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0", set_as_default=False
    ) as client:
        yield client
