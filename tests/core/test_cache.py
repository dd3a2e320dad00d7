"""The cache of kernel rows, and the sums and selections that its users need."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frugalsvm.compiling.functions import entry
from frugalsvm.core.cache import drop_row, new_rows, note_insertion, resized_rows, row_of_slot
from frugalsvm.core.expansion import new_expansion, resized, row_kernel_row
from frugalsvm.core.fastmath import float64_sum, nth_smallest, row_products
from frugalsvm.core.kernels import RBF

GAMMA = 0.3
NEVER = 0.0  # newcomers count as not used yet


@entry
def fill(rows, kernel, expansion, slot, products, values):
    n = expansion.counts[0]["n_slots"]
    norm = expansion.norms[slot]
    row_kernel_row(kernel, expansion.rows, slot, norm, expansion.rows, expansion.norms, n, products, values)
    note_insertion(rows, slot, values, n, NEVER)


@entry
def look_up(rows, kernel, expansion, slot):
    return row_of_slot(rows, kernel, expansion, slot)


@entry
def forget(rows, slot):
    drop_row(rows, slot)


class Store:
    """Slots with vectors and a cache of their kernel rows, checked after everything that is done to them."""

    def __init__(self, n_bytes, capacity=16, seed=0):
        self.rng = np.random.default_rng(seed)
        self.n_bytes = n_bytes
        self.expansion = new_expansion(capacity, 3, 1, float)
        self.rows = new_rows(n_bytes, capacity, float)
        self.last_used = {}  # of the slots in the cache
        self.clock = self.n_evicted = 0

    @property
    def n(self):
        return int(self.expansion.counts[0]["n_slots"])

    @property
    def capacity(self):
        return self.expansion.rows.shape[0]

    def insert(self, slot=None):
        """Another vector for a slot, or for a new one."""
        slot = self.n if slot is None else slot
        self.expansion.rows[slot] = self.rng.normal(size=3)
        self.expansion.norms[slot] = self.expansion.rows[slot] @ self.expansion.rows[slot]
        self.expansion.counts[0]["n_slots"] = max(self.n, slot + 1)
        self.last_used.pop(slot, None)
        fill(self.rows, RBF(GAMMA), self.expansion, slot, np.zeros(self.capacity), np.zeros(self.capacity))
        self._check_eviction(slot)
        self.last_used[slot] = NEVER
        return slot

    def look_up(self, slot):
        """The row's place; it must be complete and right."""
        place = look_up(self.rows, RBF(GAMMA), self.expansion, slot)
        self.check_row(place, slot)
        self._check_eviction(slot)
        self.clock += 1
        self.last_used[slot] = self.clock
        return place

    def drop(self, slot):
        forget(self.rows, slot)
        self.last_used.pop(slot, None)
        self._check_places()

    def grow(self, capacity):
        self.rows = resized_rows(self.rows, capacity)
        self.expansion = resized(self.expansion, capacity)
        left = self._check_places()
        assert left <= set(self.last_used)
        assert len(left) >= min(len(self.last_used), len(self.rows.slot)) // 2  # not simply empty
        self.last_used = {slot: self.last_used[slot] for slot in left}

    def check_row(self, place, slot):
        vectors = self.expansion.rows[: self.n]
        expected = np.exp(-GAMMA * ((vectors - vectors[slot]) ** 2).sum(axis=1))
        np.testing.assert_allclose(self.rows.values[place, : self.n], expected, rtol=1e-12, atol=1e-14)

    def cost_of(self, slot):
        """Kernel values computed for a row."""
        before = int(self.expansion.counts[0]["n_kernel_evals"])
        self.look_up(slot)
        return int(self.expansion.counts[0]["n_kernel_evals"]) - before

    def _check_eviction(self, slot):
        """At most one row went, only if there was no room, and it was the one not used for the longest time."""
        gone = set(self.last_used) - self._check_places()
        if gone:
            (dropped,) = gone
            assert slot not in self.last_used
            assert len(self.last_used) == len(self.rows.slot)
            assert self.last_used[dropped] == min(self.last_used.values())
            del self.last_used[dropped]
            self.n_evicted += 1

    def _check_places(self):
        """The slots in the cache; slots and places know each other, and the memory is bounded."""
        places, slots = self.rows.place, self.rows.slot
        cached = {int(slot) for slot in slots if slot >= 0}
        assert np.count_nonzero(slots >= 0) == len(cached) == np.count_nonzero(places >= 0)
        assert all(places[slot] == place for place, slot in enumerate(slots) if slot >= 0)
        assert self.rows.values.shape == (len(slots), self.capacity)
        least = 4 * self.capacity * self.rows.values.itemsize  # a step needs a few rows whatever was allowed
        assert self.rows.values.nbytes <= max(self.n_bytes, least)
        return cached


@pytest.mark.parametrize("n_bytes", [0, 6 * 16 * 8, 100 * 100 * 8])
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_right_whatever_happened(n_bytes, seed):
    store = Store(n_bytes, seed=seed)
    rng = np.random.default_rng(seed)
    done = dict.fromkeys(["new", "reuse", "overwrite", "look", "look at two", "drop", "grow"], 0)
    freed = []
    for _ in range(1500):
        what = rng.choice(list(done), p=[0.1, 0.2, 0.1, 0.2, 0.2, 0.195, 0.005])
        live = sorted(set(range(store.n)) - set(freed))
        if what == "grow" and store.capacity < 96:
            store.grow(store.capacity + 16)
        elif what == "new" and store.n < store.capacity:
            store.insert()
        elif what == "reuse" and freed:
            store.insert(freed.pop(int(rng.integers(len(freed)))))
        elif len(live) < 2:
            continue
        elif what == "overwrite":
            store.insert(int(rng.choice(live)))
        elif what == "look":
            store.look_up(int(rng.choice(live)))
        elif what == "look at two":
            i, j = (int(slot) for slot in rng.choice(live, 2, replace=False))
            places = store.look_up(i), store.look_up(j)
            assert places[0] != places[1]
            store.check_row(places[0], i)
        elif what == "drop":
            freed.append(int(rng.choice(live)))
            store.drop(freed[-1])
        else:
            continue
        done[what] += 1
    assert min(done.values()) >= 2
    assert store.rows.state[0]["n_logged"] > 2 * store.rows.log.size  # the log went round
    assert store.n_evicted >= 50 or n_bytes == 100 * 100 * 8


def test_the_least_recently_used_row_goes_first():
    store = Store(n_bytes=5 * 16 * 8)
    for _ in range(5):
        store.insert()
    for slot in (3, 0, 4, 1, 2):
        store.look_up(slot)
    store.look_up(3)  # so 0 is the oldest now
    newcomer = store.insert()
    assert set(store.last_used) == {1, 2, 3, 4, newcomer}
    store.look_up(0)  # a newcomer that nobody used goes before the others
    assert set(store.last_used) == {0, 1, 2, 3, 4}
    store.look_up(newcomer)
    assert set(store.last_used) == {0, 1, 2, 3, newcomer}
    store.drop(2)  # there is room
    store.look_up(4)
    assert set(store.last_used) == {0, 1, 3, 4, newcomer}


def test_only_what_is_missing_is_computed():
    store = Store(n_bytes=16 * 16 * 8)
    for _ in range(10):
        store.insert()
    assert store.cost_of(9) == 0  # came complete
    assert store.cost_of(0) == 0  # copied from the newcomers' rows
    store.insert(5)
    assert store.cost_of(0) == 0
    store.insert(5)
    store.insert(6)
    store.drop(5)
    store.drop(6)
    assert store.cost_of(0) == 2
    assert store.cost_of(0) == 0
    store.drop(0)
    assert store.cost_of(0) == 3  # itself, 5 and 6: the other rows know of it
    for slot in range(10):
        store.drop(slot)
    assert store.cost_of(0) == 10


def test_growth_keeps_rows_and_memory():
    store = Store(n_bytes=12 * 16 * 8)
    for _ in range(16):
        store.insert()
    for slot in range(16):
        store.look_up(slot)
    assert len(store.last_used) == 12
    buffer = store.rows.buffer
    store.grow(32)
    assert store.rows.buffer is buffer
    assert store.rows.values.shape == (6, 32)
    assert len(store.last_used) == 6
    for slot in list(store.last_used):
        assert store.cost_of(slot) == 0
    store.grow(64)  # now more than was allowed is needed
    assert store.rows.values.shape == (4, 64)
    for slot in list(store.last_used):
        assert store.cost_of(slot) == 0


# --- Sums and selections ----------------------------------------------------------------------------------


@entry
def select(values, n, k):
    return nth_smallest(values, n, k)


@entry
def products_and_sum(A, i, B, n, weights, out, stride):
    row_products(A, i, B, n, out, stride)
    return float64_sum(weights, 1, out, n)


@settings(max_examples=120, derandomize=True)
@given(
    st.one_of(
        st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60),
        st.lists(st.integers(0, 3).map(float), min_size=1, max_size=60),  # many equal ones
    ),
    st.data(),
)
def test_nth_smallest(numbers, data):
    n = data.draw(st.integers(1, len(numbers)))
    k = data.draw(st.integers(0, n - 1))
    values = np.array(numbers)
    assert select(values, n, k) == np.partition(numbers[:n], k)[k]
    np.testing.assert_array_equal(np.sort(values[:n]), np.sort(numbers[:n]))
    np.testing.assert_array_equal(values[n:], numbers[n:])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8, 11])
def test_row_products_and_their_sum(n, dtype):
    rng = np.random.default_rng(n)
    A, B = rng.normal(size=(3, 7)).astype(dtype), rng.normal(size=(12, 7)).astype(dtype)
    weights = rng.normal(size=(2, 12))
    weights[1] *= 1e8 ** (np.arange(12) % 2)  # small terms beside large ones are lost in float32
    out = np.full(12, -7.0, dtype)
    total = products_and_sum(A, 2, B, n, weights, out, 1)
    exact = B[:n].astype(float) @ A[2].astype(float)
    np.testing.assert_allclose(out[:n], exact, rtol=0, atol=50 * np.finfo(dtype).eps)
    assert np.all(out[(n + 3) // 4 * 4 :] == -7.0)  # beyond the last group of four
    terms = weights[1, :n] * out[:n].astype(float)
    assert total == pytest.approx(terms.sum(), rel=0, abs=1e-14 * np.abs(terms).sum())


def test_row_products_to_a_column():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(3, 7)), rng.normal(size=(8, 7))
    out = np.full((8, 5), -7.0)
    products_and_sum(A, 2, B, 8, np.zeros((2, 12)), out.reshape(-1)[3:], 5)
    np.testing.assert_allclose(out[:, 3], B @ A[2], rtol=1e-12)
    out[:, 3] = -7.0
    assert np.all(out == -7.0)
