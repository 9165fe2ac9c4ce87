//! Multiple-choice items in lm-evaluation-harness: one log-likelihood per option, displayed as the chosen option.

use serde_json::Value;

use super::value::own;

/// Options of an item with their log-likelihoods under the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Choices {
    pub logliks: Vec<f64>,
    /// Options as named in the document.
    pub options: Vec<String>,
    /// Continuations whose log-likelihoods were computed.
    pub continuations: Vec<String>,
}

/// Extracts log-likelihoods from responses: `[[-3.2, false], …]`, each pair possibly nested in another list or given as text.
pub(crate) fn logliks(responses: &Value) -> Option<Vec<f64>> {
    let one = |value: &Value| {
        let pair = match value.as_array()?.as_slice() {
            [Value::Array(inner)] => inner.as_slice(),
            pair => pair,
        };
        let [loglik, greedy] = pair else { return None };
        let greedy = greedy.is_boolean() || matches!(greedy.as_str(), Some("True" | "False" | "true" | "false"));
        loglik.as_f64().or_else(|| loglik.as_str()?.trim().parse().ok()).filter(|_| greedy)
    };
    let all: Option<Vec<f64>> = responses.as_array()?.iter().map(one).collect();
    all.filter(|all| all.len() > 1)
}

/// Extracts option texts: `["x", "y"]`, or `{"text": ["x", "y"], "label": …}`.
pub(crate) fn options(value: &Value) -> Vec<String> {
    let list = value.as_array().or_else(|| value.get("text")?.as_array());
    let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    list.map_or_else(Vec::new, |list| list.iter().map(text).collect())
}

/// Extracts continuations from request arguments: `{"gen_args_0": {"arg_0": context, "arg_1": continuation}, …}`, or a list of pairs.
pub(crate) fn continuations(arguments: &Value) -> Vec<String> {
    let of = |pair: &Value| {
        let second = pair.get("arg_1").or_else(|| pair.get(1));
        second.and_then(Value::as_str).map(|text| text.trim().to_owned())
    };
    let all: Option<Vec<String>> = match arguments {
        Value::Array(list) => list.iter().map(of).collect(),
        Value::Object(map) => (0..map.len()).map(|k| of(map.get(&format!("gen_args_{k}"))?)).collect(),
        _ => None,
    };
    all.unwrap_or_default()
}

impl Choices {
    /// Returns the texts of the options, one per log-likelihood; empty if unknown.
    fn texts(&self) -> &[String] {
        let fits = |texts: &[String]| texts.len() == self.logliks.len() && texts.iter().any(|text| *text != texts[0]);
        [&self.options, &self.continuations].into_iter().find(|texts| fits(texts)).map_or(&[], |texts| texts)
    }

    /// Formats an option as `b: text`.
    fn shown(&self, at: usize) -> String {
        let number = u8::try_from(at).ok().filter(|at| *at < 26).map(|at| char::from(b'a' + at).to_string());
        let number = number.unwrap_or_else(|| (at + 1).to_string());
        self.texts().get(at).map_or(number.clone(), |text| own(&format!("{number}: {}", text.trim())))
    }

    fn best(&self, score: impl Fn(usize) -> f64) -> Option<usize> {
        // As in the harness, the first of tied options wins.
        (0..self.logliks.len()).rev().max_by(|a, b| score(*a).total_cmp(&score(*b)))
    }

    /// Returns the chosen option. If `normalised` is true and length normalization changes the choice, returns both options.
    pub(crate) fn answer(&self, normalised: bool) -> Option<String> {
        let raw = self.best(|k| self.logliks[k])?;
        let length = |k: usize| self.texts().get(k).map_or(1, |text| text.chars().count().max(1)) as f64;
        let by_length = self.best(|k| self.logliks[k] / length(k)).filter(|k| normalised && *k != raw);
        let text = self.shown(raw);
        Some(by_length.map_or(text.clone(), |k| format!("{text} (acc_norm: {})", self.shown(k))))
    }

    /// Returns the expected option, given as a number or a text. If it could be either, the interpretation consistent with `right` is used.
    pub(crate) fn expected(&self, target: &str, right: Option<bool>) -> Option<String> {
        let target = target.trim();
        let chosen = self.best(|k| self.logliks[k])?;
        let number = target.parse::<usize>().ok().filter(|k| *k < self.logliks.len());
        let letter = match target.as_bytes() {
            [c] if c.is_ascii_alphabetic() => Some(usize::from(c.to_ascii_lowercase() - b'a')),
            _ => None,
        };
        let text = self.texts().iter().position(|text| text.trim() == target);
        let letter = letter.filter(|k| *k < self.logliks.len());
        let all: Vec<usize> = [number, text, letter].into_iter().flatten().collect();
        let agrees = |k: &&usize| right.is_none_or(|right| right == (**k == chosen));
        all.iter().find(agrees).or(all.first()).map(|k| self.shown(*k))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_response_formats_are_parsed() {
        for responses in [
            json!([[-3.0, false], [-1.5, true]]),
            json!([["-3.0", "False"], ["-1.5", "True"]]),
            json!([[[-3.0, false]], [[-1.5, true]]]),
        ] {
            assert_eq!(logliks(&responses), Some(vec![-3.0, -1.5]), "{responses}");
        }
        for other in [json!(["text"]), json!([["x", "y"]]), json!("x"), json!([[-1.0, true]])] {
            assert_eq!(logliks(&other), None, "{other}");
        }
        assert_eq!(options(&json!({"text": ["x", "y"], "label": ["A", "B"]})), ["x", "y"]);
        let of_args = json!({"gen_args_0": {"arg_0": "q", "arg_1": " x"}, "gen_args_1": {"arg_0": "q", "arg_1": " y"}});
        assert_eq!(continuations(&of_args), ["x", "y"]);
        assert_eq!(continuations(&json!([["q", " x"], ["q", " y"]])), ["x", "y"]);
    }

    #[test]
    fn chosen_option_is_reported() {
        let names = ["Rome", "Paris", "Ouagadougou"].map(str::to_owned).to_vec();
        let c = Choices { logliks: vec![-4.0, -3.0, -5.0], options: names, continuations: vec![] };
        assert_eq!(c.answer(false).as_deref(), Some("b: Paris"));
        assert_eq!(c.answer(true).as_deref(), Some("b: Paris (acc_norm: c: Ouagadougou)"));
        for target in ["0", "Rome", "A", " a"] {
            assert_eq!(c.expected(target, Some(false)).as_deref(), Some("a: Rome"), "{target}");
        }
        assert_eq!(c.expected("Berlin", None), None);
        let numbers = ["0", "1", "2"].map(str::to_owned).to_vec();
        let c = Choices { options: numbers.into_iter().rev().collect(), ..c };
        assert_eq!(c.expected("0", Some(false)).as_deref(), Some("a: 2"), "a number is an index first");
        assert_eq!(c.expected("2", Some(false)).as_deref(), Some("c: 0"));
        assert_eq!(Choices { logliks: vec![-1.0, -2.0], ..Choices::default() }.answer(false).as_deref(), Some("a"));
    }
}
