"""The table of real data sets: where each one comes from, how to read it, and its digest.

How far the addresses were checked. None of them was fetched while this table was written. Each was found in
several public programs that download from it, as were the names of the members of the archives. For two sets
the check goes further: the original text files, rebuilt from the arrays whose digest stands here, have the
checksums that other projects publish for ``shuttle.trn``, ``shuttle.tst`` and ``phoneme.dat``. ``ad_shuttle`` and
``ad_satellite`` are exactly the rows of ``shuttle`` and ``satimage`` under other labels. For the others
it is only expected that the files give the arrays of the digest. A wrong or changed file is always noticed,
since the digest would not match.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from frugalsvm.datasets import _parsers

_ADBENCH = "https://github.com/Minqi824/ADBench/raw/main/adbench/datasets/Classical"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_UCI = "https://archive.ics.uci.edu/static/public"
_UCI_REGRESSION = "https://github.com/treforevans/uci_datasets/raw/master/uci_datasets"
_UCI_LICENSE = "CC BY 4.0 according to the UCI repository (not re-checked)"


@dataclass(frozen=True)
class Source:
    """Everything known about one data set."""

    title: str  # what it is and where it was first published
    # For each original file, the addresses that offer it, in order of preference. A name may start with a folder, where
    # several sets have files of the same name.
    urls: Mapping[str, tuple[str, ...]]
    parse: Callable[[Mapping[str, bytes]], dict[str, np.ndarray]]  # from the contents of these files to arrays
    sha256: str  # `frugalsvm.datasets._digest.digest` of the arrays
    remark: str = ""  # what to know before using it
    license: str = "none stated"  # as far as stated
    any_row_order: bool = False  # whether copies of the set differ in the order of rows
    decimals: int | None = None  # to which all copies agree, where they differ in the last digits
    max_bytes: int = 64 * 2**20  # no original file is larger than this, as it is downloaded
    # SHA-256 of original files by name, where several public programs agree on it: checked before parsing
    file_sha256: Mapping[str, str] = field(default_factory=dict)

    def served_from(self, mirror: str) -> "Source":
        """Return this source with all files taken from one folder on a server or, by file://, on disk."""
        base = mirror.rstrip("/")
        return replace(self, urls={name: (f"{base}/{name}",) for name in self.urls})


def _at(*urls: str) -> dict[str, tuple[str, ...]]:
    """Group addresses by file name, which is their last part."""
    grouped: dict[str, tuple[str, ...]] = {}
    for url in urls:
        name = url.rsplit("/", 1)[-1]
        grouped[name] = (*grouped.get(name, ()), url)
    return grouped


def _archive(read: Callable[..., dict[str, np.ndarray]], *urls: str, **options: Any) -> dict[str, Any]:
    """Where an archive is, and how it is read."""
    addresses = _at(*urls)
    (name,) = addresses
    return {"urls": addresses, "parse": partial(read, archive=name, **options)}


def _regression(name: str, *, remark: str, **others: Any) -> Source:
    """A set of the collection by Evans: a table and ten masks of test rows, in a folder of the name of the set."""
    table, masks = f"{name}/data.csv.gz", f"{name}/test_mask.csv.gz"
    return Source(
        urls={file: (f"{_UCI_REGRESSION}/{file}",) for file in (table, masks)},
        parse=partial(_parsers.read_masked_table, table=table, masks=masks),
        remark=f"{remark} Values and split are those of the collection by Evans, not of the original: columns are "
        "centered and rounded to five digits, and of its ten random splits (90 % for training) this is the first.",
        **others,
    )


_STATLOG = partial(_archive, _parsers.read_tables_in_zip, delimiter=None)
_SATIMAGE = _STATLOG(f"{_UCI}/146/statlog+landsat+satellite.zip", train="sat.trn", test="sat.tst", dtype=np.uint8)
_SHUTTLE = _STATLOG(f"{_UCI}/148/statlog+shuttle.zip", train="shuttle.trn", test="shuttle.tst", dtype=np.int16)
_MNIST = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
_IMAGES, _LABELS, _TEST_IMAGES, _TEST_LABELS = _MNIST

SOURCES: dict[str, Source] = {
    "a9a": Source(
        title="Adult (1994 US census), income above 50K against the rest, in Platt's 123 binary features",
        license=_UCI_LICENSE,
        urls=_at(f"{_LIBSVM}/binary/a9a", f"{_LIBSVM}/binary/a9a.t"),
        parse=partial(_parsers.read_svmlight, train="a9a", test="a9a.t", n_features=123, dtype=np.int8),
        sha256="fde6a660cb9ad52e153e7d2b0b565d3ddd7b8d613d2987afb484fd6077295cc9",
        remark="Labels -1 and +1. Contains duplicate rows, as the original does.",
    ),
    "ad_http": Source(
        title="Anomalies among connections to web servers (KDD Cup 1999): duration, bytes sent and received",
        **_archive(_parsers.read_numpy_archive, f"{_ADBENCH}/16_http.npz"),
        sha256="eab1dcfc74eb696160848a0e6bd31c1631b22c04b3c69ecc9fc1fd50ee6d186d",
        remark="Label 1 (an attack, one in 250) or 0; no split. Features are log(value + 0.1).",
        any_row_order=True,
    ),
    "ad_mammography": Source(
        title="Anomalies among spots in mammograms (Woods et al. 1993), six standardized features",
        **_archive(_parsers.read_numpy_archive, f"{_ADBENCH}/23_mammography.npz"),
        sha256="9689edde3ab8ba3c84ad1b09e5927edf6437fbe253d002db4ad455ecb4612a2f",
        remark="Label 1 (calcification, one in 43) or 0; no split.",
        any_row_order=True,
    ),
    "ad_satellite": Source(
        title="Anomalies in a Landsat image: satimage, classes 2, 4 and 5 against the rest",
        license=_UCI_LICENSE,
        urls=_SATIMAGE["urls"],
        parse=partial(_parsers.as_anomalies, read=_SATIMAGE["parse"], anomalies=(2, 4, 5)),
        sha256="985003d6b237e65f0b439278dbe9354f75768d33716ca019ee936fc26a63653d",
        remark="Label 1 (anomaly, one in three) or 0; no split: the test rows of satimage come after the others.",
    ),
    "ad_shuttle": Source(
        title="Anomalies of space shuttle radiators: shuttle without class 4, class 1 against the rest",
        license=_UCI_LICENSE,
        urls=_SHUTTLE["urls"],
        parse=partial(_parsers.as_anomalies, read=_SHUTTLE["parse"], anomalies=(2, 3, 5, 6, 7), without=(4,)),
        sha256="4d3e5a456d93b3fd258130dc307da0bd2ce82f4729ff99659bab4846adddd606",
        remark="Label 1 (anomaly, one in fourteen) or 0; no split: the test rows of shuttle come after the others.",
    ),
    "banana": Source(
        title="Banana, two-dimensional artificial set of the benchmarks by Raetsch, Onoda and Mueller (2001)",
        urls=_at(
            "https://github.com/tdiethe/gunnar_raetsch_benchmark_datasets/raw/master/benchmarks.mat",
            "http://theoval.cmp.uea.ac.uk/matlab/benchmarks/benchmarks.mat",
        ),
        parse=partial(_parsers.read_matlab_struct, name="benchmarks.mat", variable="banana"),
        sha256="a29dafe749afd3653bad0919a128da22a2088b67f2515b67edc46723a990d716",
        remark="Labels -1 and +1; no split. The order of rows and the last digit differ between copies.",
        any_row_order=True,
        decimals=2,
    ),
    "covtype": Source(
        title="Covertype (Blackard and Dean), forest cover from cartographic variables, unscaled",
        license=_UCI_LICENSE,
        **_archive(_parsers.read_covtype, f"{_UCI}/31/covertype.zip", member="covtype.data.gz"),
        sha256="40ff52995f33f3171ac364cf7c55a454cf39d0eaeac361041d09df38f6c96271",
        remark="Classes 1 to 7; no split. Rows are ordered by area. The usual two-class task is 2 or not.",
    ),
    "dna": Source(
        title="DNA splice junctions (Statlog), 60 positions of three binary indicators",
        license=_UCI_LICENSE,
        urls=_at(f"{_LIBSVM}/multiclass/dna.scale", f"{_LIBSVM}/multiclass/dna.scale.t"),
        parse=partial(_parsers.read_svmlight, train="dna.scale", test="dna.scale.t", n_features=180, dtype=np.int8),
        sha256="505bbc03a6cfbdf113d6f8f7bb114ad8fba4705c5d8c753e9f2d4b048a24c7fc",
        remark="Classes 1 (exon to intron), 2 (intron to exon) and 3 (neither). Contains duplicate rows.",
    ),
    "elec2": Source(
        title="Electricity, New South Wales market (Harries 1999), normalized by Gama",
        urls=_at(
            "https://api.openml.org/data/v1/download/2419/electricity-normalized.arff",
            "https://www.openml.org/data/download/2419/electricity-normalized.arff",
        ),
        parse=partial(_parsers.read_arff, name="electricity-normalized.arff", labels=("DOWN", "UP")),
        sha256="9f18b2c852f43cde11d76a887b1b8b882c3b8ea7b7bbde19fdf0da955a823b80",
        remark="Labels 0 (down) and 1 (up); no split. A time series: keep the order for prequential use.",
    ),
    "elevators": _regression(
        "elevators",
        title="Elevators of an F16 aircraft (Camacho), from the collection by Torgo",
        sha256="b7f5de94c0f909911a2ab19f3f8d1e6d409400f67893f3cb57a21367aeff42ca",
        remark="Regression: the target is the logarithm of the action on the elevators.",
    ),
    "ijcnn1": Source(
        title="IJCNN 2001 competition (Prokhorov), features of the winners (Chang and Lin)",
        urls=_at(f"{_LIBSVM}/binary/ijcnn1.bz2", f"{_LIBSVM}/binary/ijcnn1.t.bz2"),
        parse=partial(_parsers.read_svmlight, train="ijcnn1.bz2", test="ijcnn1.t.bz2", n_features=22, dtype=np.float32),
        sha256="f9e22cb458b16bf25cf1fb39c433135afc379f3d2b0862d13a1d960a85e4c7c9",
        remark="Labels -1 and +1, one in ten positive. A time series: shuffle it for independent draws.",
    ),
    "kin40k": _regression(
        "kin40k",
        title="Forward kinematics of a robot arm, 40 000 rows with little noise (Seeger, Ghahramani)",
        sha256="22209b2905e631839e3802f394cc8c08c8672e5c53155a0a4a128e690bcd568d",
        remark="Regression: the target is a distance, of unit variance.",
    ),
    "letter": Source(
        title="Letter recognition (Frey and Slate), 16 integer features of printed capitals",
        license=_UCI_LICENSE,
        **_archive(
            _parsers.read_letter,
            f"{_UCI}/59/letter+recognition.zip",
            member="letter-recognition.data",
            n_train=16_000,
        ),
        sha256="f642bf44335abeb56be700e9180fd24891690b5bf2148f36d70108d7700d73d1",
        remark="Classes 1 (A) to 26 (Z). Split as in Statlog: the first 16000 rows are for training.",
    ),
    "mnist": Source(
        title="MNIST handwritten digits (LeCun, Cortes, Burges), 28 x 28 pixels from 0 to 255",
        license="CC BY-SA 3.0, as stated in the documentation of Keras",
        urls=_at(
            *(f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}" for name in _MNIST),
            *(f"https://storage.googleapis.com/cvdf-datasets/mnist/{name}" for name in _MNIST),
        ),
        parse=partial(_parsers.read_idx, train=(_IMAGES, _LABELS), test=(_TEST_IMAGES, _TEST_LABELS)),
        sha256="ebabd3033221e17a04ce5df882618b697e2cb2ad20ffc62d08242a7fa2168fde",
        file_sha256=_MNIST,
        remark="Classes 0 to 9.",
    ),
    "pendigits": Source(
        title="Pen-based digits (Alpaydin and Alimoglu), eight resampled pen positions from 0 to 100",
        license=_UCI_LICENSE,
        **_archive(
            _parsers.read_tables_in_zip,
            f"{_UCI}/81/pen+based+recognition+of+handwritten+digits.zip",
            train="pendigits.tra",
            test="pendigits.tes",
            delimiter=",",
            dtype=np.uint8,
        ),
        sha256="7b05b874bada25900881590b3ef396721ae60f50633410bf2ac0957364f96044",
        remark="Classes 0 to 9. The test digits are by other writers than the training digits.",
    ),
    "phoneme": Source(
        title="Phoneme (ELENA project), nasal against oral vowels from five harmonics, KEEL version",
        urls=_at("https://sci2s.ugr.es/keel/dataset/data/classification/phoneme.zip"),
        parse=partial(_parsers.read_arff, name="phoneme.zip", member="phoneme.dat", labels=("0", "1")),
        sha256="3911bca2e4797700594249a7722476c550f3c90c4f8cc03b56b6920a6839b796",
        remark="Labels 0 (nasal) and 1 (oral); no split. Contains duplicate rows. Not the set of that name "
        "in the budgeted SVM papers, which has 48 classes.",
        any_row_order=True,
    ),
    "pol": _regression(
        "pol",
        title="Pole telecommunication (Weiss and Indurkhya), from the collection by Torgo",
        sha256="843d740e5aabd68fb17bc0b6d46a7aa99723e27fbf5272c360bf3a3c3902ba5e",
        remark="Regression: the target has eleven values.",
    ),
    "protein": _regression(
        "protein",
        title="Physicochemical properties of protein tertiary structure (CASP 5 to 9, Rana)",
        license=_UCI_LICENSE,
        sha256="58c494fd794a098405bf5cec5c08817934dd8fe8fb526399d898f90b16a37514",
        remark="Regression: the target is log(1 + distance) of a decoy from the native structure.",
    ),
    "reuters_money_fx": Source(
        title="Reuters-21578 ModApte, topic money-fx against the rest, TF-IDF as in the LASVM paper (2005)",
        license="Reuters-21578 is for research use only (not re-checked)",
        **_archive(
            _parsers.read_svmlight_with_duplicates,
            "https://leon.bottou.org/_media/papers/lasvm-reuters.tar.bz2",
            "http://leon.bottou.org/_media/papers/lasvm-reuters.tar.bz2",
            train="reuters/money-fx.trn",
            test="reuters/money-fx.tst",
            n_features=8315,
        ),
        sha256="6bbb61d16d8db0a6c218eed96b7644610f84fc790efe2198067b1c4eb6d41498",
        remark="Labels -1 and +1, one in fourteen positive. Sparse rows of unit norm; features that the "
        "original files repeat within a row are kept once.",
    ),
    "satimage": Source(
        title="Landsat satellite image (Statlog), 3 x 3 neighborhoods in four spectral bands",
        license=_UCI_LICENSE,
        **_SATIMAGE,
        sha256="a31997f8179b8e611ad60966d6c549abb84b7f02b0ed970002b91f42eb02f1db",
        remark="Classes 1, 2, 3, 4, 5 and 7. Neighboring rows are neighboring pixels: shuffle them.",
    ),
    "shuttle": Source(
        title="Space shuttle radiators (Statlog), nine integer features",
        license=_UCI_LICENSE,
        **_SHUTTLE,
        sha256="d35d116a0890509ff4133583129ed2ffd0c7fa9a80c1390c29a1fc0bdb944cf5",
        remark="Classes 1 to 7, very unbalanced: class 1 has four rows in five, classes 6 and 7 a handful.",
    ),
    "usps": Source(
        title="USPS zip code digits (Le Cun et al. 1990), 16 x 16 gray values from -1 to 1",
        urls=_at(
            *(
                f"{folder}/ElemStatLearn/datasets/{name}"
                for folder in ("https://hastie.su.domains", "https://web.stanford.edu/~hastie")
                for name in ("zip.train.gz", "zip.test.gz")
            )
        ),
        parse=partial(_parsers.read_zip_codes, train="zip.train.gz", test="zip.test.gz"),
        sha256="7fcbcaa6b23211b02e32b54dad2502a6fac02c9e0671bb9f36d32171533dec0d",
        remark="Classes 0 to 9. The test digits are much harder than the training digits.",
    ),
}
