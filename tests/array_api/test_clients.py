"""scikit-learn and SciPy on our tensors, by the array API: NumPy's answers, in tensors."""

import re
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import flambeau as fb
from flambeau import array_api as xp

DOC = Path(__file__).parents[2] / "docs" / "array_api.md"

# name: an expression, in which t(array) is the array as the library is to see it. X [40, 5], y [40] and
# others are NumPy's; what a module of the library is called here is in SKLEARN and SCIPY.
SKLEARN = {
    "calibration": "calibration", "DA": "discriminant_analysis", "D": "decomposition", "L": "linear_model",
    "M": "metrics", "MS": "model_selection", "NB": "naive_bayes", "PL": "pipeline", "PP": "preprocessing",
    "PW": "metrics.pairwise", "KA": "kernel_approximation", "GM": "mixture",
}  # fmt: skip
SCIPY = {
    "S": "stats", "G": "signal", "SP": "special", "ND": "ndimage", "F": "fft", "I": "integrate",
    "VQ": "cluster.vq", "DF": "differentiate", "T": "spatial.transform", "O": "optimize",
}  # fmt: skip

ESTIMATORS = {
    "PCA": "told(D.PCA(3).fit(t(X)), 'explained_variance_ singular_values_')"
    " + [abs(D.PCA(3).fit_transform(t(X)))]",
    "PCA(whiten=True)": "[abs(D.PCA(3, whiten=True).fit_transform(t(X)))]",
    "PCA(svd_solver='covariance_eigh')": "[abs(D.PCA(3, svd_solver='covariance_eigh').fit_transform(t(X)))]",
    "Ridge": "(lambda m: [m.coef_, m.intercept_, m.predict(t(X))])(L.Ridge(solver='svd').fit(t(X), t(y)))",
    "RidgeCV": "told(L.RidgeCV().fit(t(X), t(y)), 'coef_ intercept_')",
    "RidgeClassifier": "[L.RidgeClassifier(solver='svd').fit(t(X), t(c)).predict(t(X))]",
    "LogisticRegression": "[L.LogisticRegression().fit(t(X), t(c)).predict(t(X))]",
    "PoissonRegressor": "[L.PoissonRegressor().fit(t(X), t(c)).coef_]",
    "LinearDiscriminantAnalysis": "(lambda m: [m.predict(t(X)), m.predict_proba(t(X)),"
    " abs(m.transform(t(X)))])(DA.LinearDiscriminantAnalysis().fit(t(X), t(c)))",
    "GaussianNB": "[NB.GaussianNB().fit(t(X), t(c)).predict_proba(t(X))]",
    "GaussianMixture": "[GM.GaussianMixture(2, init_params='random', random_state=0, max_iter=5)"
    ".fit(t(X)).means_]",
    "Nystroem": "[KA.Nystroem(n_components=5, random_state=0).fit_transform(t(X))]",
    "StandardScaler": "(lambda m: [m.transform(t(X)), m.inverse_transform(t(X))])"
    "(PP.StandardScaler().fit(t(X)))",
    "MinMaxScaler": "[PP.MinMaxScaler().fit_transform(t(X))]",
    "MaxAbsScaler": "[PP.MaxAbsScaler().fit_transform(t(X))]",
    "RobustScaler": "[PP.RobustScaler().fit_transform(t(X))]",
    "Normalizer": "[PP.Normalizer().fit_transform(t(X))]",
    "Binarizer": "[PP.Binarizer().fit_transform(t(X))]",
    "KernelCenterer": "[PP.KernelCenterer().fit_transform(t(X @ X.T))]",
    "PolynomialFeatures": "[PP.PolynomialFeatures().fit_transform(t(X))]",
    "LabelEncoder": "[PP.LabelEncoder().fit_transform(t(c))]",
    "LabelBinarizer": "[PP.LabelBinarizer().fit_transform(t(c))]",
    "CalibratedClassifierCV": "[calibration.CalibratedClassifierCV(DA.LinearDiscriminantAnalysis(),"
    " method='temperature', cv=2).fit(t(X), t(b)).predict_proba(t(X))]",
    "train_test_split": "MS.train_test_split(t(X), t(y), random_state=0)",
    "cross_val_predict": "[MS.cross_val_predict(L.Ridge(solver='svd'), t(X), t(y), cv=3)]",
    "make_pipeline": "[PL.make_pipeline(PP.StandardScaler(), D.PCA(3), L.Ridge(solver='svd')).fit(t(X), t(y))"
    ".predict(t(X))]",
}  # fmt: skip
# functions of (classes, classes), (classes, probabilities), (numbers, numbers), (positive, positive) and rows
METRICS = {
    "M.{}(t(c), t(c2))": "accuracy_score balanced_accuracy_score cohen_kappa_score confusion_matrix"
    " hamming_loss multilabel_confusion_matrix zero_one_loss adjusted_rand_score",
    "M.{}(t(c), t(c2), average='macro')": "f1_score jaccard_score precision_score recall_score",
    "M.{}(t(c), t(P))": "d2_log_loss_score log_loss top_k_accuracy_score",
    "M.{}(t(b), t(P[:, 0]))": "average_precision_score brier_score_loss d2_brier_score det_curve hinge_loss"
    " precision_recall_curve roc_auc_score roc_curve",
    "M.{}(t(y), t(y2))": "d2_absolute_error_score d2_pinball_score explained_variance_score max_error"
    " mean_absolute_error mean_absolute_percentage_error mean_pinball_loss mean_squared_error"
    " median_absolute_error r2_score root_mean_squared_error",
    "M.{}(t(abs(y) + 1), t(abs(y2) + 1))": "d2_tweedie_score mean_gamma_deviance mean_poisson_deviance"
    " mean_squared_log_error mean_tweedie_deviance root_mean_squared_log_error",
    "M.{}(t(X), t(c))": "calinski_harabasz_score davies_bouldin_score",
    "PW.{}(t(abs(X)), t(abs(X[::-1]) + 1))": "additive_chi2_kernel chi2_kernel cosine_distances"
    " cosine_similarity euclidean_distances laplacian_kernel linear_kernel manhattan_distances"
    " paired_cosine_distances paired_euclidean_distances paired_manhattan_distances polynomial_kernel"
    " rbf_kernel sigmoid_kernel",
    "M.{}(t(X))": "pairwise_distances pairwise_kernels",
}  # fmt: skip
FUNCTIONS = {
    "S.{}(t(x), axis=1)": "describe entropy gstd iqr jarque_bera kstat kurtosis kurtosistest mode moment"
    " normaltest rankdata sem skew skewtest tmax tmean tmin tstd tvar variation zscore"
    " median_abs_deviation circmean circstd gmean hmean differential_entropy",
    "S.{}(t(x), t(y3), axis=1)": "bartlett brunnermunzel f_oneway kruskal mannwhitneyu pearsonr"
    " spearmanr ttest_ind ttest_rel wilcoxon",
    "S.{}(t(x * 20), axis=1)": "chisquare power_divergence",
    "G.{}(t(s[0]), t(s[1]))": "convolve correlate fftconvolve oaconvolve",
    "G.{}(t(x), t(x[:2, :3]))": "convolve2d correlate2d",
    "G.{}(t(s))": "detrend hilbert",
    "G.{}(t(f), t(g), t(s))": "filtfilt lfilter",
    "G.{}(t(sos), t(s))": "sosfilt sosfiltfilt",
    "G.{}(t(s[0]), 3)": "medfilt",
    "G.{}(t(s), 20, axis=1)": "resample",
    "G.{}(t(s), 3, 2, axis=1)": "resample_poly",
    "G.{}(t(s), 5, 2)": "savgol_filter",
    "G.{}(t(x))": "wiener",
    "G.{}(t(f), t(g), worN=16)": "freqz",
    "SP.{}(t(x))": "entr erf erfc erfinv expit gammaln i0 i0e i1 i1e log_ndtr logit ndtr ndtri psi",
    "SP.{}(t(x + 1), t(x[0] + 0.5))": "betaln chdtr gammainc gammaincc kl_div rel_entr xlogy",
    "SP.{}(t(x), axis=1)": "log_softmax logsumexp softmax",
    "ND.{}(t(im), 3)": "maximum_filter median_filter uniform_filter gaussian_filter shift",
    "ND.{}(t(im), 1.0)": "gaussian_laplace",
    "ND.{}(t(im))": "laplace prewitt sobel spline_filter sum_labels",
    "ND.{}(t(im), 2)": "rotate zoom",
    "ND.{}(t(im > 0))": "binary_erosion distance_transform_edt label",
    "F.{}(t(im))": "dct fft fft2 fftn hfft ifft irfft rfft fftshift",
    "I.{}(t(x), axis=1)": "cumulative_trapezoid simpson trapezoid",
    "VQ.{}(t(x))": "whiten",
    "VQ.{}(t(x), t(x[:2]))": "kmeans2 vq",
    "O.{}(t(x))": "rosen",
}  # fmt: skip


def table(rows):
    """{module.name: expression} of the names under patterns."""
    named = [(pattern, name) for pattern, names in rows.items() for name in names.split()]
    return {f"{pattern.partition('.')[0]}.{name}": pattern.format(name) for pattern, name in named}


OF_SKLEARN, OF_SCIPY = ESTIMATORS | table(METRICS), table(FUNCTIONS)
ON_GPU = ("PCA", "Ridge", "StandardScaler", "M.accuracy_score", "M.r2_score", "PW.euclidean_distances",
          "S.skew", "S.pearsonr", "SP.logsumexp", "G.fftconvolve")  # fmt: skip


def values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    X[:, 1] += X[:, 0]
    y = X @ np.array([1.0, 2, 0, -1, 0.5]) + rng.normal(size=40) / 10
    c = (y > 0).astype(int) + (y > 1.5)
    P = rng.random((40, 3))
    return {
        "X": X, "y": y, "y2": y + rng.normal(size=40) / 3,
        "c": c, "c2": np.roll(c, 1), "b": (c > 0).astype(int),
        "P": P / P.sum(1, keepdims=True), "x": rng.random((4, 20)), "y3": rng.random((4, 20)),
        "s": rng.normal(size=(2, 64)), "im": rng.normal(size=(8, 9)), "f": np.array([0.2, 0.3, 0.1]),
        "g": np.array([1.0, -0.4, 0.1]), "sos": np.array([[0.2, 0.3, 0.1, 1, -0.4, 0.1]]), "np": np,
        "abs": lambda v: v.abs() if isinstance(v, fb.Tensor) else np.abs(v),
        "told": lambda model, names: [getattr(model, name) for name in names.split()],
    }  # fmt: skip


def parts(result):
    """The arrays and numbers in what a function gives."""
    if isinstance(result, list | tuple):
        return [part for value in result for part in parts(value)]
    if hasattr(result, "statistic"):
        return [result.statistic, result.pvalue]
    return [result]


def compare(library, modules, expression, dtype, tol):
    names = values() | {name: import_module(f"{library}.{module}") for name, module in modules.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = parts(eval(expression, names | {"t": lambda a: narrowed(a, dtype)}))
        got = parts(eval(expression, names | {"t": lambda a: xp.asarray(narrowed(a, dtype))}))
    assert len(got) == len(want)
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs), rtol=tol, atol=tol)
    return got


def narrowed(a, dtype):
    return np.asarray(a, dtype) if a.dtype == np.float64 else a


@pytest.fixture
def dispatching(torch):
    """scikit-learn that computes with the arrays it is given. SCIPY_ARRAY_API is set in conftest.py."""
    import sklearn

    with sklearn.config_context(array_api_dispatch=True):
        yield


TO_NUMPY = ("S.spearmanr", "I.simpson")  # SciPy gives NumPy's arrays there; all others give tensors


@pytest.mark.parametrize("name", OF_SKLEARN)
def test_scikit_learn(name, dispatching):
    with fb.device("cpu"):
        compare("sklearn", SKLEARN, OF_SKLEARN[name], np.float64, 1e-5)


@pytest.mark.parametrize("name", OF_SCIPY)
def test_scipy(name, torch):
    with fb.device("cpu"):
        got = compare("scipy", SCIPY, OF_SCIPY[name], np.float64, 1e-6)
    assert any(isinstance(v, fb.Tensor) for v in got) == (name not in TO_NUMPY)


@pytest.mark.parametrize("name", ON_GPU)
def test_on_a_gpu(name, dispatching, gpu):
    library, modules, rows = (
        ("scipy", SCIPY, OF_SCIPY) if name in OF_SCIPY else ("sklearn", SKLEARN, OF_SKLEARN)
    )
    with fb.device(gpu):
        compare(library, modules, rows[name], np.float32, 2e-3)


def test_docs_name_what_runs():
    told = DOC.read_text(encoding="utf-8")
    tables = told[told.index("| scikit-learn |") : told.index("Many SciPy functions")]
    functions = [name.partition(".")[2] for name in [*table(METRICS), *OF_SCIPY] if name not in TO_NUMPY]
    assert sorted(re.findall(r"`([^`]+)`", tables)) == sorted([*ESTIMATORS, *functions])
