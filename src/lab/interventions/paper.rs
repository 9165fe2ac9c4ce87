//! Published numbers of Canby et al. (2024), for comparison with a run: Tables 1 to 3, and the methods and oracle of Figures 1 to 6. They
//! are for BERT-base and Wikipedia sentences; nothing here is computed.

use super::oracle::OracleKind;

/// A row of Table 3: scores at the strength of highest reliability, chosen and reported on the same test examples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// Name of the method in the registry.
    pub method: &'static str,
    pub completeness: f64,
    pub selectivity: f64,
    /// In AlterRep's row, .8346 is not the harmonic mean of the two scores (.8790); in all other rows it is.
    pub reliability: f64,
    pub value: f64,
}

const fn row(method: &'static str, [completeness, selectivity, reliability, value]: [f64; 4]) -> Published {
    Published { method, completeness, selectivity, reliability, value }
}

/// Table 3, in the printed order.
pub(crate) const TABLE_3: [Published; 6] = [
    row("fgsm", [0.8923, 0.3994, 0.5518, 0.112]),
    row("pgd", [0.7343, 0.3897, 0.5092, 0.112]),
    row("autoattack", [0.8433, 0.3692, 0.5136, 0.112]),
    row("alterrep", [1.0, 0.7842, 0.8346, 0.1]),
    row("inlp", [0.3308, 0.7792, 0.4644, 8.0]),
    row("rlace", [0.2961, 0.7782, 0.4290, 33.0]),
];

/// The row of a method with its default options; `None` if the paper has no such row.
pub fn published(method: &str) -> Option<&'static Published> {
    TABLE_3.iter().find(|p| p.method == method)
}

/// Table 1, in thousands of test examples: rows by the subject's number (singular, plural, both), columns by the attractor's (singular,
/// plural, none, all). Totals are as printed, from the unrounded counts.
pub const TABLE_1: [[f64; 4]; 3] = [[31.0, 5.0, 176.0, 213.0], [10.0, 4.0, 78.0, 92.0], [41.0, 9.0, 254.0, 305.0]];

/// Table 2: accuracies of the oracle and of the interventional perceptron on the target and on the other property.
pub(crate) const TABLE_2: [(&str, [f64; 2]); 2] =
    [("MLP oracle", [0.994, 0.884]), ("interventional MLP", [0.995, 0.908])];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawing {
    /// Name for requesting the figure.
    pub name: &'static str,
    /// Names of the methods in the registry.
    pub methods: &'static [&'static str],
    pub oracle: OracleKind,
}

const GRADIENT: &[&str] = &["fgsm", "pgd", "autoattack"];
const ALTERREP: &[&str] = &["alterrep"];
const NULLIFYING: &[&str] = &["inlp", "rlace"];

/// Figures 1 to 3 with the perceptron as oracle; 4 to 6 (the appendix) with the linear one.
pub const FIGURES: [Drawing; 6] = [
    Drawing { name: "figure-1", methods: GRADIENT, oracle: OracleKind::Mlp },
    Drawing { name: "figure-2", methods: ALTERREP, oracle: OracleKind::Mlp },
    Drawing { name: "figure-3", methods: NULLIFYING, oracle: OracleKind::Mlp },
    Drawing { name: "figure-4", methods: GRADIENT, oracle: OracleKind::Linear },
    Drawing { name: "figure-5", methods: ALTERREP, oracle: OracleKind::Linear },
    Drawing { name: "figure-6", methods: NULLIFYING, oracle: OracleKind::Linear },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::find;
    use crate::score::reliability;

    /// Reliability is the harmonic mean of the other two scores to four digits, except in AlterRep's row.
    #[test]
    fn published_rows_match_the_print() {
        for p in TABLE_3 {
            let method = find(p.method).unwrap();
            assert!(method.parameter.allows(p.value), "{}", p.method);
            let apart = (reliability(p.completeness, p.selectivity) - p.reliability).abs();
            assert_eq!(apart < 1.5e-4, p.method != "alterrep", "{}: {apart}", p.method);
        }
        // 69.8 % of the subjects and 81.5 % of the attractors are singular; the table prints thousands.
        let [singular, _, all] = TABLE_1;
        assert!((singular[3] / all[3] - 0.698).abs() < 0.001, "{singular:?} of {all:?}");
        assert!((all[0] / (all[0] + all[1]) - 0.815).abs() < 0.006, "{all:?}");
        for row in TABLE_1 {
            assert!((row[..3].iter().sum::<f64>() - row[3]).abs() <= 1.0, "{row:?}");
        }
    }

    #[test]
    fn paper_figures_use_registered_methods_with_one_axis() {
        for figure in FIGURES {
            let parameters: Vec<&str> = figure.methods.iter().map(|m| find(m).unwrap().parameter.name).collect();
            assert!(parameters.iter().all(|p| *p == parameters[0]), "{}", figure.name);
        }
    }
}
