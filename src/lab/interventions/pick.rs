//! Picks the figure requested on a command line from its name, model, methods and oracle.

use super::answer::oracle_name;
use super::figures::{behaviour, curves, distance, drawing, lens, map, pareto};
use super::key::MethodKey;
use super::map::Score;
use super::paper;
use super::registry::find;
use super::results::{Curve, Results};
use base::suggest::unknown;
use figure::Figure;
use lab::{Details, EngineInfo, FigureEntry};

/// The named figures: the lab's own and the paper's.
pub const ENTRIES: &[FigureEntry] = &[
    FigureEntry::headline(
        "pareto",
        "Completeness against selectivity of every method's settings, with their front and best strengths.",
    ),
    FigureEntry::headline(
        "figure-1",
        "C, S and R of the gradient attacks by strength, judged by the MLP oracle (Canby et al., Figure 1).",
    ),
    FigureEntry::headline(
        "figure-2",
        "C, S and R of AlterRep by step size, judged by the MLP oracle (Canby et al., Figure 2).",
    ),
    FigureEntry::headline(
        "figure-3",
        "C, S and R of the nullifying methods of the run (INLP, RLACE) by rank, judged by the MLP oracle (Canby et al., Figure 3).",
    ),
    FigureEntry::headline(
        "figure-4",
        "C, S and R of the gradient attacks by strength, judged by the linear oracle (Canby et al., Figure 4).",
    ),
    FigureEntry::headline(
        "figure-5",
        "C, S and R of AlterRep by step size, judged by the linear oracle (Canby et al., Figure 5).",
    ),
    FigureEntry::headline(
        "figure-6",
        "C, S and R of the nullifying methods of the run (INLP, RLACE) by rank, judged by the linear oracle (Canby et al., Figure 6).",
    ),
    FigureEntry::headline("distance", "Distance of edited states from real ones, by strength of one method."),
    FigureEntry::headline("behaviour", "The model's own predictions after one method's edit, by strength."),
    FigureEntry::headline("map", "Reliability of one method by layer of the edit and layer of the oracle."),
    FigureEntry::headline(
        "lens",
        "Accuracy of the model's own head and of a linear oracle at each layer (logit lens).",
    ),
    FigureEntry::further(
        "reliability",
        "C, S and R of one or several methods by strength, with rivals and baselines for a single method.",
    ),
    FigureEntry::further(
        "map-completeness",
        "Completeness of one method by layer of the edit and layer of the oracle.",
    ),
    FigureEntry::further("map-selectivity", "Selectivity of one method by layer of the edit and layer of the oracle."),
];

/// Picks and draws a figure; an omitted choice means the first one available.
///
/// # Errors
/// A message that lists the choices.
pub fn pick(
    name: &str,
    details: &Details<'_>,
    results: &Results,
    engine: Option<&EngineInfo>,
) -> Result<Figure, String> {
    let names: Vec<&str> = ENTRIES.iter().map(|e| e.name).collect();
    if !names.contains(&name) {
        return Err(unknown("figure", name, &names));
    }
    let detail = |key: &str| details.more.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    let all: Vec<&Curve> = results.curves.iter().collect();
    let of_model = narrowed("model", details.model, &all, |c| c.key.model.clone())?;
    if let Some(figure) = paper::FIGURES.iter().find(|f| f.name == name) {
        let model = of_model.first().map(|c| c.key.model.as_str());
        let drawn = model.and_then(|model| drawing(results, engine, model, figure, details.marker));
        return drawn.ok_or_else(|| {
            let methods = figure.methods.join(", ");
            format!(
                "{name} shows {methods} under the {}, but the session has no such points",
                oracle_name(figure.oracle)
            )
        });
    }
    if name == "lens" {
        let drawn = of_model.first().and_then(|c| lens(results, engine, &c.key.model));
        return drawn.ok_or_else(|| "the run computed no logit lens; request it with [lens] in the spec".into());
    }
    let judged = narrowed("oracle", detail("oracle"), &of_model, |c| c.key.oracle.to_string())?;
    let Some(first) = judged.first() else { return Err("the session has no points to draw".into()) };
    let (model, oracle) = (first.key.model.clone(), first.key.oracle);
    let none = || format!("the session has no points for model {model} with the {}", oracle_name(oracle));
    if name == "pareto" {
        return pareto(results, engine, &model, oracle).ok_or_else(none);
    }
    let mut methods: Vec<MethodKey> = Vec::new();
    let mut parameters: Vec<&str> = Vec::new();
    let wanted = detail("method").map_or(vec![None], |list| list.split(',').map(Some).collect());
    for method in wanted {
        // The curves of the named method; without a name, the first curve that is not a control, or else the first of all.
        let found = match method {
            None => vec![*judged.iter().find(|c| !is_control(c)).unwrap_or(first)],
            named => narrowed("method", named, &judged, |c| c.key.method.name.clone())?,
        };
        methods.extend(found.iter().map(|c| c.key.method.clone()));
        parameters.extend(found.iter().map(|c| c.parameter.as_str()));
    }
    if name == "behaviour" {
        let none = || {
            format!(
                "the predictions of {model} itself were not measured: it has no language model head, or the target does not have two values"
            )
        };
        let drawn = methods.iter().find_map(|m| behaviour(results, engine, &model, m, details.marker));
        return drawn.ok_or_else(none);
    }
    if name == "distance" {
        let none = || format!("no distances were measured for model {model}");
        let drawn = methods.iter().find_map(|m| distance(results, engine, &model, m));
        return drawn.ok_or_else(none);
    }
    if name == "map" || name.starts_with("map-") {
        let score = Score::ALL.into_iter().find(|s| name.ends_with(s.name())).unwrap_or_default();
        let drawn = methods.iter().find_map(|m| map(results, engine, (&model, m, oracle), score));
        let (titles, judge) =
            (methods.iter().map(MethodKey::title).collect::<Vec<_>>().join(", "), oracle_name(oracle));
        return drawn.ok_or_else(|| {
            format!("no map of {titles} on {model} with the {judge} was computed; a spec requests it with [map]")
        });
    }
    if let Some(other) = parameters.iter().position(|p| *p != parameters[0]) {
        return Err(format!(
            "{} and {} sweep different hyperparameters and cannot share an axis; export them one by one",
            methods[other].name, methods[0].name
        ));
    }
    curves(results, engine, &model, &methods, oracle, details.marker).ok_or_else(none)
}

fn is_control(curve: &Curve) -> bool {
    find(&curve.key.method.name).is_some_and(|method| method.is_control)
}

/// The curves whose `key` is the requested name; without a name, those with the first curve's key.
fn narrowed<'a>(
    what: &str,
    wanted: Option<&str>,
    curves: &[&'a Curve],
    key: impl Fn(&Curve) -> String,
) -> Result<Vec<&'a Curve>, String> {
    let Some(name) = wanted.map(str::to_owned).or_else(|| curves.first().map(|c| key(c))) else {
        return Ok(Vec::new());
    };
    let found: Vec<&Curve> = curves.iter().copied().filter(|c| key(c) == name).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut known: Vec<String> = curves.iter().map(|c| key(c)).collect();
    known.sort();
    known.dedup();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Err(unknown(&format!("{what} of this session"), &name, &known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Regression: figures of the identity control used to show one point per curve.
    #[test]
    fn constant_control_is_drawn_only_on_request() {
        let mut results = sample::results();
        let mut control = results.curves[0].clone();
        control.key.method = MethodKey::named("identity");
        let first = control.points[0].clone();
        control.points.iter_mut().for_each(|p| {
            (p.value.completeness, p.value.selectivity) = (first.value.completeness, first.value.selectivity);
        });
        results.curves.push(control);
        let named = |f: &Figure| f.name.contains("identity");
        assert!(!super::super::figures::all(&results, None).iter().any(named));
        let details = Details { more: vec![("method", "identity")], ..Details::default() };
        assert!(named(&pick("reliability", &details, &results, None).unwrap()));
    }

    /// Regression: if a spec listed its control first, the figures used to show the control's constant line.
    #[test]
    fn control_is_drawn_only_without_other_methods() {
        let mut results = sample::results();
        let mut control = results.curves[0].clone();
        control.key.method = MethodKey::named("identity");
        results.curves.insert(0, control);
        let name = |results: &Results| pick("reliability", &Details::default(), results, None).unwrap().name;
        assert!(!name(&results).contains("identity"));
        results.curves.truncate(1);
        assert!(name(&results).contains("identity"));
    }
}
