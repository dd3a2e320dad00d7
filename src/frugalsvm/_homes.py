"""Where public classes are defined: they are imported when somebody asks for them, or when a model file names them."""

__all__ = ["AUTOMATIC", "CONFORMAL", "ESTIMATORS", "FEATURE_MAPS", "KERNEL_SUMS", "PIPELINES", "SEARCHES"]

ESTIMATORS = {
    "ASSETClassifier": "frugalsvm.estimators.asset",
    "ASSETOneClassSVM": "frugalsvm.estimators.asset_one_class",
    "ASSETRegressor": "frugalsvm.estimators.asset_regressor",
    "BPAClassifier": "frugalsvm.estimators.bpa",
    "BSGDClassifier": "frugalsvm.estimators.bsgd",
    "BSGDOneClassSVM": "frugalsvm.estimators.bsgd_one_class",
    "BSGDRegressor": "frugalsvm.estimators.bsgd_regressor",
    "BudgetedPerceptron": "frugalsvm.estimators.perceptron",
    "IncrementalSVC": "frugalsvm.estimators.incremental",
    "LASVMClassifier": "frugalsvm.estimators.lasvm",
    "LocalSVC": "frugalsvm.estimators.local_svc",
    "LocalSVR": "frugalsvm.estimators.local_svr",
    "TVMClassifier": "frugalsvm.estimators.tvm",
    "TrackingSVC": "frugalsvm.estimators.tracking",
}
AUTOMATIC = {
    "AutoSVC": "frugalsvm.auto.classifier",
    "AutoSVR": "frugalsvm.auto.regressor",
}
CONFORMAL = {
    "ConformalClassifier": "frugalsvm.conformal.classifier",
    "ConformalDetector": "frugalsvm.conformal.detector",
    "ConformalRegressor": "frugalsvm.conformal.regressor",
    "DelayBuffer": "frugalsvm.conformal.delay",
}
FEATURE_MAPS = {
    "FourierMap": "frugalsvm.estimators.feature_maps",
    "NystroemMap": "frugalsvm.estimators.feature_maps",
}
KERNEL_SUMS = {
    "KernelSum": "frugalsvm.lowrank.kernel_sum",
    "KernelTerm": "frugalsvm.lowrank.kernel_sum",
}
SEARCHES = {
    "StreamTuner": "frugalsvm.stream_search.tuner",
}
PIPELINES = {
    "ColumnEncoder": "frugalsvm.pipelines.encoder",
    "MissingValueFiller": "frugalsvm.pipelines.imputer",
    "StreamPipeline": "frugalsvm.pipelines.pipeline",
    "StreamingScaler": "frugalsvm.pipelines.scaler",
}
