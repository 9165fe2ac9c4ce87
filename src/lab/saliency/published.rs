//! Tables 4 to 11 of Shen et al. (2022) in their printed form, for Chinese (4 to 7) and English (8 to 11).

use super::data::perturbation_name;
use super::finding::ALL;
use super::metrics::tables::{Accuracy, Interpretability};
use super::spec::dimension_name;
use super::tables::CHANGE;
use corpus::rationales::{Dimension, Perturbation};
use stats::Estimate;

const CHINESE: &str = "Chinese";
const ENGLISH: &str = "English";
/// The model in the tables that are broken down by perturbation.
const MODEL: &str = "RoBERTa-base";

/// Kinds of perturbation, in the order of the tables.
pub(crate) fn kinds() -> [&'static str; 3] {
    Perturbation::ALL.map(perturbation_name)
}

/// Tables 4 and 8: Top-1 and Top-3 in per cent by dimension, for all inputs, originals and partners.
const ACCURACY: [(&str, &str, [f64; 15], [f64; 15]); 8] = [
    (
        "BERT-base",
        CHINESE,
        [61.3, 61.3, 61.2, 43.9, 45.3, 42.4, 7.2, 8.3, 6.0, 20.5, 21.7, 19.3, 1.1, 1.5, 0.8],
        [79.2, 80.3, 78.2, 61.7, 63.2, 60.2, 12.2, 13.0, 11.3, 32.8, 35.0, 30.7, 3.3, 4.0, 2.5],
    ),
    (
        "RoBERTa-base",
        CHINESE,
        [67.6, 68.8, 66.3, 51.0, 53.1, 48.9, 5.0, 5.3, 4.7, 23.8, 25.0, 22.7, 1.0, 0.8, 1.3],
        [81.7, 82.2, 81.2, 71.9, 72.4, 71.4, 10.0, 8.7, 11.3, 43.5, 43.0, 44.0, 2.9, 3.3, 2.5],
    ),
    (
        "ERNIE-base",
        CHINESE,
        [64.3, 65.5, 63.1, 50.6, 51.6, 49.7, 4.5, 4.0, 5.0, 25.0, 26.7, 23.3, 0.3, 0.3, 0.3],
        [81.7, 82.6, 80.9, 71.7, 72.3, 71.1, 12.3, 12.0, 12.7, 45.5, 47.0, 44.0, 1.6, 1.5, 1.8],
    ),
    (
        "ERNIE-large",
        CHINESE,
        [67.7, 68.5, 66.9, 53.0, 54.4, 51.6, 4.3, 4.0, 4.7, 30.5, 32.0, 29.0, 0.5, 0.3, 0.8],
        [84.0, 84.9, 83.0, 73.6, 74.6, 72.6, 11.2, 10.3, 12.0, 50.2, 52.7, 47.7, 2.8, 2.5, 3.0],
    ),
    (
        "BERT-base",
        ENGLISH,
        [52.2, 52.5, 51.9, 64.7, 65.6, 63.8, 0.7, 0.7, 0.7, 24.0, 23.7, 24.3, 0.5, 0.3, 0.7],
        [69.0, 69.1, 68.9, 80.5, 81.3, 79.7, 1.0, 1.4, 0.7, 36.5, 35.7, 37.3, 2.8, 2.3, 3.3],
    ),
    (
        "BERT-large",
        ENGLISH,
        [58.8, 58.9, 58.8, 67.9, 69.1, 66.7, 0.7, 1.0, 0.3, 28.7, 28.0, 29.3, 1.3, 1.0, 1.6],
        [73.2, 73.4, 73.0, 83.9, 84.9, 83.0, 1.2, 2.0, 0.3, 42.0, 41.3, 42.7, 4.4, 4.2, 4.6],
    ),
    (
        "RoBERTa-base",
        ENGLISH,
        [59.5, 59.3, 59.6, 62.7, 62.9, 62.4, 2.9, 3.1, 2.7, 29.7, 29.3, 30.0, 1.1, 1.0, 1.3],
        [73.2, 73.6, 72.9, 79.7, 80.3, 79.1, 5.4, 6.8, 4.1, 46.5, 46.3, 46.7, 5.1, 4.6, 5.5],
    ),
    (
        "RoBERTa-large",
        ENGLISH,
        [72.0, 71.5, 72.5, 73.6, 74.0, 73.1, 5.1, 6.4, 3.7, 40.5, 40.0, 41.0, 2.0, 2.0, 2.0],
        [83.3, 83.3, 83.4, 89.0, 89.5, 88.4, 8.8, 11.2, 6.4, 57.8, 59.7, 56.0, 6.7, 7.2, 6.2],
    ),
];

/// Tables 5 and 9: F1, MAP, PCC and MAP* by dimension, for attention and integrated gradients.
const INTERPRETABILITY: [(&str, &str, [f64; 20], [f64; 20]); 8] = [
    (
        "BERT-base",
        CHINESE,
        [
            0.35, 0.85, 0.93, 0.90, 0.39, 0.82, 0.94, 0.91, 0.68, 0.73, 0.92, 0.90, 0.53, 0.73, 0.88, 0.84, 0.64, 0.83,
            0.87, 0.89,
        ],
        [
            0.35, 0.70, 0.88, 0.74, 0.30, 0.67, 0.89, 0.75, 0.61, 0.59, 0.83, 0.71, 0.49, 0.55, 0.80, 0.62, 0.59, 0.76,
            0.88, 0.78,
        ],
    ),
    (
        "RoBERTa-base",
        CHINESE,
        [
            0.38, 0.86, 0.93, 0.91, 0.37, 0.84, 0.94, 0.92, 0.65, 0.71, 0.92, 0.90, 0.50, 0.76, 0.90, 0.86, 0.64, 0.85,
            0.89, 0.90,
        ],
        [
            0.30, 0.72, 0.88, 0.80, 0.31, 0.68, 0.87, 0.81, 0.63, 0.63, 0.82, 0.86, 0.50, 0.65, 0.82, 0.81, 0.60, 0.80,
            0.86, 0.87,
        ],
    ),
    (
        "ERNIE-base",
        CHINESE,
        [
            0.50, 0.86, 0.95, 0.91, 0.49, 0.82, 0.96, 0.91, 0.71, 0.74, 0.96, 0.92, 0.66, 0.78, 0.95, 0.88, 0.69, 0.86,
            0.94, 0.91,
        ],
        [
            0.38, 0.66, 0.89, 0.71, 0.36, 0.61, 0.88, 0.69, 0.64, 0.54, 0.84, 0.68, 0.54, 0.53, 0.82, 0.59, 0.61, 0.76,
            0.91, 0.77,
        ],
    ),
    (
        "ERNIE-large",
        CHINESE,
        [
            0.40, 0.83, 0.92, 0.88, 0.41, 0.80, 0.90, 0.89, 0.71, 0.76, 0.87, 0.88, 0.54, 0.69, 0.87, 0.81, 0.66, 0.83,
            0.86, 0.89,
        ],
        [
            0.33, 0.56, 0.70, 0.64, 0.33, 0.51, 0.69, 0.64, 0.62, 0.51, 0.76, 0.70, 0.50, 0.47, 0.67, 0.61, 0.60, 0.68,
            0.72, 0.73,
        ],
    ),
    (
        "BERT-base",
        ENGLISH,
        [
            0.47, 0.91, 0.99, 0.93, 0.44, 0.84, 0.97, 0.90, 0.59, 0.73, 0.99, 0.85, 0.53, 0.87, 0.99, 0.89, 0.57, 0.90,
            0.95, 0.92,
        ],
        [
            0.34, 0.73, 0.89, 0.75, 0.42, 0.67, 0.87, 0.71, 0.66, 0.51, 0.83, 0.63, 0.56, 0.64, 0.83, 0.68, 0.62, 0.79,
            0.85, 0.80,
        ],
    ),
    (
        "BERT-large",
        ENGLISH,
        [
            0.47, 0.87, 0.95, 0.91, 0.40, 0.83, 0.94, 0.89, 0.58, 0.64, 0.94, 0.85, 0.59, 0.84, 0.96, 0.87, 0.60, 0.90,
            0.94, 0.90,
        ],
        [
            0.37, 0.42, 0.45, 0.48, 0.41, 0.38, 0.44, 0.46, 0.64, 0.40, 0.54, 0.61, 0.57, 0.41, 0.39, 0.51, 0.66, 0.56,
            0.48, 0.60,
        ],
    ),
    (
        "RoBERTa-base",
        ENGLISH,
        [
            0.55, 0.88, 0.95, 0.91, 0.44, 0.83, 0.94, 0.89, 0.58, 0.63, 0.90, 0.85, 0.63, 0.83, 0.92, 0.88, 0.62, 0.87,
            0.91, 0.90,
        ],
        [
            0.39, 0.66, 0.78, 0.73, 0.37, 0.56, 0.72, 0.68, 0.56, 0.41, 0.73, 0.67, 0.56, 0.59, 0.79, 0.69, 0.63, 0.73,
            0.81, 0.78,
        ],
    ),
    (
        "RoBERTa-large",
        ENGLISH,
        [
            0.53, 0.90, 0.96, 0.93, 0.43, 0.82, 0.94, 0.91, 0.55, 0.63, 0.90, 0.86, 0.56, 0.83, 0.90, 0.88, 0.58, 0.87,
            0.92, 0.90,
        ],
        [
            0.37, 0.57, 0.74, 0.67, 0.37, 0.50, 0.73, 0.65, 0.56, 0.45, 0.67, 0.60, 0.54, 0.54, 0.74, 0.67, 0.63, 0.67,
            0.74, 0.75,
        ],
    ),
];

/// Tables 6 and 11: Top-1 in per cent of originals and of partners, by dimension and perturbation. Cells of Table 11 that are missing in
/// the available text are NaN.
const ACCURACY_BY_KIND: [(&str, [f64; 15], [f64; 15]); 2] = [
    (
        CHINESE,
        [67.7, 72.0, 63.9, 57.5, 51.5, 47.0, 8.4, 1.7, 4.8, 15.7, 30.3, 26.1, 0.0, 0.0, 1.7],
        [66.4, 70.3, 60.1, 55.8, 51.8, 31.7, 6.3, 1.7, 4.8, 15.7, 30.3, 15.9, 1.6, 1.7, 0.0],
    ),
    (
        ENGLISH,
        [59.8, 58.6, 54.3, 60.2, 73.9, 63.2, 4.3, 1.6, 3.1, 25.6, 30.0, 35.5, 2.6, 1.1, 0.0],
        [
            60.4,
            f64::NAN,
            f64::NAN,
            59.2,
            f64::NAN,
            64.6,
            f64::NAN,
            f64::NAN,
            1.8,
            f64::NAN,
            30.5,
            32.3,
            f64::NAN,
            0.0,
            0.0,
        ],
    ),
];

/// Tables 7 and 10: F1Δ and MAP of each dimension, by perturbation.
const BY_KIND: [(&str, [[f64; 6]; 5]); 2] = [
    (
        CHINESE,
        [
            [0.003, 0.906, 0.011, 0.834, 0.001, 0.810],
            [0.008, 0.881, 0.004, 0.868, 0.014, 0.700],
            [0.003, 0.769, 0.007, 0.775, 0.002, 0.648],
            [0.012, 0.809, 0.026, 0.786, 0.020, 0.663],
            [0.003, 0.912, 0.009, 0.897, 0.012, 0.833],
        ],
    ),
    (
        ENGLISH,
        [
            [0.000, 0.913, 0.002, 0.821, 0.001, 0.837],
            [0.001, 0.854, 0.001, 0.856, 0.016, 0.644],
            [0.016, 0.783, 0.017, 0.750, 0.057, 0.512],
            [0.002, 0.874, 0.002, 0.821, 0.013, 0.753],
            [0.001, 0.921, 0.004, 0.877, 0.019, 0.888],
        ],
    ),
];

fn named(model: &str, language: &str) -> String {
    format!("{model}, published ({language})")
}

fn printed(value: f64) -> Option<Estimate> {
    value.is_finite().then(|| Estimate::exact(value))
}

/// A printed percentage as a proportion.
fn share(per_cent: f64) -> Option<Estimate> {
    printed((per_cent * 10.0).round() / 1000.0)
}

/// Dimensions with their indices.
fn dimensions() -> impl Iterator<Item = (usize, String)> {
    Dimension::ALL.into_iter().map(|d| dimension_name(d).to_owned()).enumerate()
}

/// Rows of Tables 4 and 8.
pub(crate) fn accuracy() -> Vec<Accuracy> {
    let samples = [(ALL, 0), ("original", 1), ("perturbed", 2)];
    let rows = ACCURACY.iter().flat_map(|(model, language, top1, top3)| {
        samples.into_iter().flat_map(move |(sample, k)| {
            dimensions().map(move |(d, dimension)| Accuracy {
                model: named(model, language),
                dimension,
                sample: sample.into(),
                perturbation: ALL.into(),
                top1: share(top1[3 * d + k]),
                top3: share(top3[3 * d + k]),
                n: 0,
            })
        })
    });
    rows.collect()
}

/// Rows of Tables 6 and 11.
pub(crate) fn accuracy_by_kind() -> Vec<Accuracy> {
    let rows = ACCURACY_BY_KIND.iter().flat_map(|(language, originals, partners)| {
        let change: Vec<f64> = partners.iter().zip(originals).map(|(p, o)| p - o).collect();
        let samples = [("original", originals.to_vec()), ("perturbed", partners.to_vec()), (CHANGE, change)];
        samples.into_iter().flat_map(move |(sample, values)| {
            dimensions().flat_map(move |(d, dimension)| {
                let row = |k: usize| Accuracy {
                    model: named(MODEL, language),
                    dimension: dimension.clone(),
                    sample: sample.into(),
                    perturbation: kinds()[k].into(),
                    top1: share(values[3 * d + k]),
                    top3: None,
                    n: 0,
                };
                [row(0), row(1), row(2)]
            })
        })
    });
    rows.collect()
}

fn measures(names: &[&str], values: &[f64]) -> Vec<(String, Option<Estimate>, usize)> {
    names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), printed(*value), 0)).collect()
}

/// Rows of Tables 5 and 9.
pub(crate) fn interpretability() -> Vec<Interpretability> {
    let rows = INTERPRETABILITY.iter().flat_map(|(model, language, attention, gradients)| {
        [("attention", attention), ("integrated_gradients", gradients)].into_iter().flat_map(move |(method, values)| {
            dimensions().map(move |(d, dimension)| Interpretability {
                model: named(model, language),
                method: method.into(),
                dimension,
                perturbation: ALL.into(),
                measures: measures(&["F1", "MAP", "PCC", "MAP*"], &values[4 * d..]),
            })
        })
    });
    rows.collect()
}

/// Rows of Tables 7 and 10.
pub(crate) fn by_kind() -> Vec<Interpretability> {
    let rows = BY_KIND.iter().flat_map(|(language, values)| {
        kinds().into_iter().enumerate().flat_map(move |(k, kind)| {
            dimensions().map(move |(d, dimension)| Interpretability {
                model: named(MODEL, language),
                method: "attention".into(),
                dimension,
                perturbation: kind.into(),
                measures: measures(&["F1Δ", "MAP"], &values[d][2 * k..]),
            })
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each printed share for all inputs is near the mean of those for originals and partners, and Top-1 is at most Top-3.
    #[test]
    fn printed_accuracies_are_consistent() {
        for (model, language, top1, top3) in &ACCURACY {
            for shares in [top1, top3].into_iter().flat_map(|all| all.chunks(3)) {
                let between = (shares[0] - (shares[1] + shares[2]) / 2.0).abs();
                assert!(between < 0.11, "{model} {language}: {shares:?}");
            }
            assert!(top1.iter().zip(top3).all(|(one, three)| one <= three), "{model} {language}");
        }
        let lacking = ACCURACY_BY_KIND.map(|(_, all, partners)| {
            assert!(all.iter().all(|v| v.is_finite()));
            partners.iter().filter(|v| v.is_nan()).count()
        });
        assert_eq!(lacking, [0, 7], "only Table 11 has unreadable cells");
    }

    #[test]
    fn every_printed_number_has_a_row() {
        let value = |rows: &[Accuracy], model: &str, sample: &str, dimension: &str, kind: &str| {
            let is = |r: &&Accuracy| {
                (r.model.as_str(), r.sample.as_str()) == (model, sample)
                    && (r.dimension.as_str(), r.perturbation.as_str()) == (dimension, kind)
            };
            rows.iter().find(is).unwrap().top1.map(|e| e.mean)
        };
        let (whole, kinds) = (accuracy(), accuracy_by_kind());
        assert_eq!((whole.len(), kinds.len()), (8 * 15, 2 * 45));
        let chinese = "RoBERTa-base, published (Chinese)";
        let english = "RoBERTa-base, published (English)";
        assert_eq!(value(&whole, chinese, "perturbed", "semantics", ALL), Some(0.489));
        assert_eq!(value(&whole, english, ALL, "computation", ALL), Some(0.011));
        assert_eq!(value(&kinds, chinese, CHANGE, "semantics", "trans"), Some(-0.153));
        assert_eq!(value(&kinds, english, "perturbed", "grammar", "import"), None);
        let measure = |rows: &[Interpretability], at: [&str; 4], name: &str| {
            let is =
                |r: &&Interpretability| [&r.model, &r.method, &r.dimension, &r.perturbation].map(String::as_str) == at;
            let row = rows.iter().find(is).unwrap();
            row.measures.iter().find(|m| m.0 == name).and_then(|m| m.1).map(|e| e.mean)
        };
        let (all, kinds) = (interpretability(), by_kind());
        assert_eq!((all.len(), kinds.len()), (8 * 10, 2 * 15));
        let of = [english, "integrated_gradients", "reasoning", ALL];
        assert_eq!(["F1", "MAP", "PCC", "MAP*"].map(|m| measure(&all, of, m)), [0.56, 0.59, 0.79, 0.69].map(Some));
        let of = [chinese, "attention", "knowledge", "trans"];
        assert_eq!(["F1Δ", "MAP", "F1"].map(|m| measure(&kinds, of, m)), [Some(0.002), Some(0.648), None]);
    }
}
