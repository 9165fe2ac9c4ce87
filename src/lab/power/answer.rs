//! The lab's answer in sentences: which side is better, and how many items and training sentences are needed to show it.

use super::finding::ComparisonFinding;
use super::results::Results;
use super::spec::{Spec, in_words};
use super::summary::{
    exaggerated, few_values, none_enough, often, p_value, points, power_at_hand, seen, span, too_few, unbounded,
};
use super::systems::FEWEST_TASKS;
use super::tasks::{PooledFinding, TaskFinding, TaskVerdict, few_clusters};
use base::numbers::score;
use base::text::last_part;
use corpus::probing::PROBING;
use figure::capital;
use figure::layers::grouped;
use lab::compared::Number;
use lab::interval::{is_few, level_title, two_values};
use lab::{Answer, Tagged};
use stats::Estimate;
use stats::mcnemar::Test;

pub(crate) fn question(spec: &Spec) -> String {
    let (a, b) = (spec.name(true), spec.name(false));
    let systems = spec.a.results.len() + spec.b.results.len();
    if systems > 2 && spec.of_folders() {
        return format!("Which of {systems} systems are better than others, and on which tasks?");
    }
    if spec.of_files() {
        return format!("Is {a} better than {b}, and how many items show it?");
    }
    let b = if b == format!("untrained:{a}") { "its untrained copy".to_owned() } else { b };
    let task = |first: bool| {
        let (name, data) = spec.task_of(first);
        let title = PROBING.iter().find(|task| task.id == name).map(|task| format!("the {}", task.title));
        data.map_or_else(|| title.unwrap_or(name.replace('_', " ")), |data| last_part(data).to_owned())
    };
    format!("Is {a} better than {b} at telling {}, and how many sentences show it?", task(true))
}

/// Plural noun for the items of a run.
fn items(spec: &Spec) -> &'static str {
    if spec.of_files() { "items" } else { "test sentences" }
}

pub(crate) fn answer(results: &Results, spec: &Spec) -> Answer {
    let Some(c) = results.comparison() else { return Answer::new(over_tasks(results), Vec::new(), clusters(results)) };
    let mut says = vec![verdict(c, results.alpha(), items(spec))];
    let (brief, details) = needed(results, c, items(spec)).unwrap_or_default();
    says.extend(brief);
    if let Some((n, bound)) = results.recommended() {
        let ends = bound_ends(results, spec, &c.value).unwrap_or_default();
        says.push(format!("Training sentences, by the {bound}: {}{ends}.", grouped(n as usize)));
    }
    let mut doubts: Vec<String> = results.collapsed().map_or(Vec::new(), <[String]>::to_vec);
    doubts.extend(low_bar(spec));
    doubts.extend(layers_differ(spec));
    doubts.extend(below_bound(results));
    doubts.extend(training_luck(&c.value, spec));
    doubts.extend(few_values(&c.value, c.n, items(spec)));
    doubts.extend(too_few(c));
    doubts.extend(results.needed().and_then(|r| unbounded(&c.value, &r.value.n_test)));
    doubts.extend(results.at_hand().and_then(|p| exaggerated(p.value.type_m, p.value.type_s)));
    Answer::new(says, details, doubts)
}

/// Interval for the recommended number of training sentences, computed from the bound at both ends of the difference's interval.
fn bound_ends(results: &Results, spec: &Spec, c: &ComparisonFinding) -> Option<String> {
    let parameters = results.needed().and_then(|r| r.value.parameters);
    let (least, most) = spec.recommended_within(c.difference, parameters)?;
    let most = most.map_or_else(|| "unbounded".into(), |n| grouped(n as usize));
    Some(format!(" [{}, {most}]", grouped(least as usize)))
}

/// The doubt about a rival that was never trained.
fn low_bar(spec: &Spec) -> Option<String> {
    let (a, b) = (spec.encoder_name(true), spec.encoder_name(false));
    (!spec.of_files() && b == format!("untrained:{a}"))
        .then(|| "an untrained copy is a low bar: compare with another trained model too".to_owned())
}

/// The doubt about models probed at different layers, where the layer may explain the difference.
fn layers_differ(spec: &Spec) -> Option<String> {
    let models = spec.encoder_name(true) != spec.encoder_name(false);
    (!spec.of_files() && models && spec.a.layer != spec.b.layer)
        .then(|| "the two sides also differ in layer, so the difference is not due to the models alone".to_owned())
}

/// The doubt about probes trained on fewer sentences than the bound recommends.
fn below_bound(results: &Results) -> Option<String> {
    let (needed, bound) = results.recommended()?;
    let trained = results.needed()?.value.trained.filter(|n| *n < needed)?;
    let [trained, needed] = [trained, needed].map(|n| grouped(n as usize));
    Some(format!(
        "the probes were trained on {trained} sentences; the {bound} guarantees the order from {needed} on, and fewer may be enough"
    ))
}

/// Minimum spread over training runs, as a share of an interval's half-width, that is reported as a doubt. At that share, a
/// 95 % interval covers about 92 %.
const LUCK: f64 = 0.5;

/// The doubt about intervals over test sentences, which leave out the randomness of training. It lists the values of two
/// training runs, or the standard deviation over more.
fn training_luck(c: &ComparisonFinding, spec: &Spec) -> Option<String> {
    if spec.of_files() {
        return None;
    }
    let leave_out =
        "the intervals of the difference and of the number of sentences needed ignore the randomness of training";
    let (seeds, d) = (c.seeds as f64, c.difference);
    let show = |x: f64| format!("{}{}", c.amount(x).trim_start_matches('+'), c.unit());
    match c.seed_sd {
        _ if c.seeds <= 1 => Some(format!("with one seed, {leave_out}")),
        Some(sd) if is_few(c.seeds) => {
            let [least, most] = two_values(d.mean, sd).map(show);
            Some(format!("{leave_out}: with one seed the difference is {least}, with the other {most}"))
        }
        Some(sd) if 1.96 * sd / seeds.sqrt() > LUCK * d.half_width() => {
            Some(format!("{leave_out}: over {} seeds the difference has a standard deviation of {}", c.seeds, show(sd)))
        }
        _ => None,
    }
}

const PAIRS: usize = 3;

/// The answer for more than two folders: the pairs with the largest differences, and the number of significant ones.
fn over_pairs(results: &Results) -> Vec<String> {
    let mut pairs: Vec<&Tagged<PooledFinding>> = results.pairs().iter().filter_map(|p| p.decides).collect();
    pairs.sort_by(|x, y| y.value.difference.mean.abs().total_cmp(&x.value.difference.mean.abs()));
    let ahead = |t: &&Tagged<PooledFinding>| {
        let v = &t.value;
        let (d, first) = (v.difference, v.difference.mean >= 0.0);
        let (winner, other) = if first { (&v.a, &v.b) } else { (&v.b, &v.a) };
        let d = if first { d } else { Estimate { mean: -d.mean, lo: -d.hi, hi: -d.lo } };
        let by = points(d.mean);
        let by = by.trim_start_matches('+');
        match v.holm_p {
            Some(p) => format!(
                "{winner} {} {other} by {by} points [{}, {}], adjusted p {} (Holm, {} pairs).",
                if p <= results.alpha() { "beats" } else { "is ahead of" },
                points(d.lo),
                points(d.hi),
                p_value(p),
                pairs.len()
            ),
            None => format!("{winner} is ahead of {other} by {by} points; no interval under {FEWEST_TASKS} tasks."),
        }
    };
    let mut says: Vec<String> = pairs.iter().take(PAIRS).map(ahead).collect();
    if pairs.len() > PAIRS {
        let shown = pairs.iter().filter(|t| t.value.holm_p.is_some_and(|p| p <= results.alpha())).count();
        says.insert(
            0,
            format!("{shown} of {} pairs differ significantly; the {PAIRS} largest differences follow.", pairs.len()),
        );
    }
    says
}

/// The doubt about the mean over items with tasks as clusters, if that mean has an interval.
fn clusters(results: &Results) -> Vec<String> {
    let shown = results.pooled.iter().find(|t| t.value.over == "micro" && t.value.p.is_some());
    shown.and_then(|t| few_clusters(t.value.tasks)).into_iter().collect()
}

/// The answer for two folders: the difference over their tasks, and the number of tasks with each verdict.
pub(crate) fn over_tasks(results: &Results) -> Vec<String> {
    if results.pairs().len() > 1 {
        return over_pairs(results);
    }
    let Some(first) = results.tasks.first().map(|t| &t.value) else { return Vec::new() };
    let count = |verdict: TaskVerdict| results.tasks.iter().filter(|t| t.value.verdict == verdict).count();
    let tasks = match results.tasks.len() {
        1 => "1 task".to_owned(),
        n => format!("{n} tasks"),
    };
    let verdicts = format!(
        "{tasks}: {} better with {}, {} with {}, {} equivalent, {} undecided (Holm over tasks).",
        count(TaskVerdict::ABetter),
        first.a,
        count(TaskVerdict::BBetter),
        first.b,
        count(TaskVerdict::Equivalent),
        count(TaskVerdict::Undecided)
    );
    // The mean over the items of these tasks is used instead of means without an interval.
    let tested = results.pooled.iter().any(|t| t.value.p.is_some());
    let mut says: Vec<String> = results
        .pooled
        .iter()
        .filter(|t| t.value.p.is_some() || !tested)
        .map(|t| {
            let v = &t.value;
            let over = match v.over.as_str() {
                "macro" => "Mean over tasks",
                "fixed" => "Mean over the items of these tasks",
                _ => "Mean over items, tasks as clusters",
            };
            let d = v.difference;
            match v.p {
                Some(p) => format!(
                    "{over}: {} against {} {} points [{}, {}], p {}.",
                    v.a,
                    v.b,
                    points(d.mean),
                    points(d.lo),
                    points(d.hi),
                    p_value(p)
                ),
                None => format!("{over}: {} points; no interval under {FEWEST_TASKS} tasks.", points(d.mean)),
            }
        })
        .collect();
    says.push(verdicts);
    says
}

/// Table rows for the tasks of two folders.
pub(crate) fn task_rows(results: &Results) -> Vec<Vec<String>> {
    let row = |t: &Tagged<TaskFinding>| {
        let (v, d) = (&t.value, t.value.difference);
        vec![
            v.task.clone(),
            v.metric.clone(),
            grouped(t.n),
            format!("{} [{}, {}]", v.amount(d.mean), v.amount(d.lo), v.amount(d.hi)),
            p_value(v.p),
            p_value(v.holm_p),
            v.verdict.name().into(),
        ]
    };
    results.tasks.iter().map(row).collect()
}

/// Names the better side, the size of the difference, and the number of items.
fn verdict(c: &Tagged<ComparisonFinding>, alpha: f64, items: &str) -> String {
    let v = &c.value;
    let d = v.difference;
    let turned = if d.mean >= 0.0 { d } else { Estimate { mean: -d.mean, lo: -d.hi, hi: -d.lo } };
    let by = |x: f64| v.amount(x).trim_start_matches('+').to_owned();
    let (mean, lo, hi, unit) = (by(turned.mean), by(turned.lo), by(turned.hi), v.unit());
    let shown = v.deciding_p() <= alpha;
    let word = match (d.mean > 0.0, d.mean == 0.0, shown) {
        (_, true, _) => "No: both are level".to_owned(),
        (true, _, true) => "Yes: ahead by".to_owned(),
        (false, _, true) => format!("No: {} is ahead by", in_words(&v.b)),
        (true, _, false) => "Not shown: ahead by".to_owned(),
        (false, _, false) => format!("Not shown: {} is ahead by", in_words(&v.b)),
    };
    // An interim comparison covers a part of the items.
    let word = if c.is_final { word } else { word.replacen(':', " so far:", 1) };
    let level = level_title(c.level);
    let amount = match d.mean == 0.0 {
        true => format!("{word} [{lo}, {hi}]{unit} ({level} interval)"),
        false => format!("{word} {mean}{unit} [{lo}, {hi}] ({level} interval)"),
    };
    let seeds = if v.seeds > 1 { format!(" over {} seeds", v.seeds) } else { String::new() };
    let p = p_value(v.deciding_p());
    let p = match v.family > 1 && !v.planned {
        true => format!("adjusted p {p} (Holm, {} comparisons)", v.family),
        false => format!("p {p}"),
    };
    let equal = if v.equivalence_p < alpha {
        format!("; equal within {} points (p {})", score(100.0 * v.margin), p_value(v.equivalence_p))
    } else {
        String::new()
    };
    format!("{amount} on {} {items}{seeds}, {p}{equal}.", grouped(c.n))
}

/// The number of items that would show the difference, in short and in full; the latter with the smallest difference that the current
/// items would show.
fn needed(results: &Results, c: &Tagged<ComparisonFinding>, items: &str) -> Option<(Option<String>, Vec<String>)> {
    let r = &results.needed()?.value;
    let by = results.at_hand().map_or(Test::default(), |p| p.value.test);
    let (have, target) = (grouped(c.n), often(r.target));
    let (brief, text) = match r.n_test.mean.filter(|_| results.collapsed().is_none()) {
        Some(_) => {
            let needs = span(&r.n_test);
            let text = seen(&c.value, (&needs, items), &target, by, r.design);
            (Some(format!("Needed to show it {target} of the time: {needs} {items}; this run has {have}.")), text)
        }
        None => {
            let text = seen(&c.value, (&have, items), &power_at_hand(results, r.power), by, r.design);
            match results.collapsed().is_some() {
                true => (None, text),
                false => (Some(format!("{}.", capital(none_enough(&c.value)))), text),
            }
        }
    };
    let smallest = r.mde.map(|mde| {
        let (amount, unit) = (c.value.amount(mde), c.value.unit());
        format!(
            "The {have} {items} of this run would show a difference of {}{unit} or more {target} of the time (an estimate without an interval).",
            amount.trim_start_matches('+'),
        )
    });
    Some((brief, std::iter::once(format!("{}.", capital(&text))).chain(smallest).collect()))
}

/// Accuracies of both sides, their difference and its power.
pub(crate) fn numbers(results: &Results) -> Vec<Number> {
    // Long names of sides become headings, so that there is room for the values.
    let share = |(group, name): (String, String), value: Estimate, n: usize, level: Option<f64>| Number {
        name,
        group,
        value,
        n: n.into(),
        level: level.unwrap_or(0.95),
        unit: (100.0, " points"),
        distrusted: false,
        stands_in: None,
    };
    let accuracy = results.configurations.iter().map(|c| {
        let v = &c.value;
        let name = format!("accuracy at {}", grouped(v.n_train));
        share((v.name.clone(), name), v.accuracy, c.n, c.level)
    });
    let compared = results.comparisons.iter().filter(|c| c.value.is_share()).map(|c| {
        let v = &c.value;
        share((format!("{} minus {}", v.a, v.b), v.metric.clone()), v.difference, c.n, c.level)
    });
    let power = results.at_hand().map(|p| share((String::new(), "power".into()), p.value.power, p.n, p.level));
    accuracy.chain(compared).chain(power).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Names, of_tally};

    #[test]
    fn the_question_names_both_sides_and_the_task() {
        let asked = question(&Spec::shipped());
        assert!(
            asked.starts_with("Is bert-mini better than its untrained copy at telling the number of the subject"),
            "{asked}"
        );
    }

    #[test]
    fn an_untrained_copy_is_doubted_as_a_rival_and_another_model_is_not() {
        let mut spec = Spec::shipped();
        assert!(low_bar(&spec).is_some_and(|doubt| doubt.contains("low bar")));
        // Regression: the doubt used to disappear if the sides also differed in layer.
        spec.a.layer = lab::layer::LayerRef::At(1);
        assert!(low_bar(&spec).is_some());
        spec.models[1] = "roberta-mini".into();
        assert_eq!(low_bar(&spec), None);
    }

    #[test]
    fn a_difference_in_layer_beside_that_of_the_models_is_a_doubt() {
        let mut spec = Spec::shipped();
        assert_eq!(layers_differ(&spec), None);
        spec.a.layer = lab::layer::LayerRef::At(1);
        assert!(layers_differ(&spec).is_some_and(|doubt| doubt.contains("also differ in layer")));
        spec.models[1] = spec.models[0].clone();
        assert_eq!(layers_differ(&spec), None, "no doubt if layers are what is compared");
    }

    /// Regression: the answer used to omit that probes were trained on 2,048 sentences but that the bound recommends 36,812.
    #[test]
    fn probes_trained_on_fewer_sentences_than_the_bound_asks_for_are_doubted() {
        let open = crate::finding::Open { mean: Some(100.0), lo: None, hi: None };
        let mut results = crate::survey::tests::asking(open);
        assert_eq!(below_bound(&results), None, "results from files have no bound");
        let mut trained = |n: u64| {
            results.required.as_mut().unwrap().value.trained = Some(n);
            below_bound(&results)
        };
        assert_eq!(
            trained(2_048).as_deref(),
            Some(
                "the probes were trained on 2,048 sentences; the bound of Zhu et al. 2022 guarantees the order from 50,000 on, and fewer may be enough"
            )
        );
        assert_eq!(trained(50_000), None);
    }

    /// Regression: the interval of a difference over two seeds used to appear without a note on what it leaves out.
    #[test]
    fn two_seeds_are_listed_and_more_have_a_deviation() {
        let spec = Spec::shipped();
        let of = |seeds: usize, seed_sd: Option<f64>| {
            let side = |right: [f64; 4]| vec![right.to_vec()];
            let (a, b) = (side([1.0, 1.0, 0.0, 1.0]), side([1.0, 0.0, 0.0, 1.0]));
            let pairs = crate::pairs::Pairs { a, b, clusters: None, apart: false };
            let names = Names { a: "a".into(), b: "b".into(), metric: "accuracy".into() };
            let c = of_tally(&pairs.tally(), &names, spec.terms());
            let difference = Estimate { mean: 0.1, lo: 0.05, hi: 0.15 };
            training_luck(&ComparisonFinding { seeds, seed_sd, difference, ..c }, &spec)
        };
        assert!(of(1, None).is_some_and(|text| text.starts_with("with one seed, the intervals")));
        let two = of(2, Some(0.02 * 2f64.sqrt()));
        assert!(
            two.as_ref().is_some_and(
                |text| text.ends_with("with one seed the difference is 8.0 points, with the other 12.0 points")
            ),
            "{two:?}"
        );
        let (steady, varying) = (of(5, Some(0.01)), of(5, Some(0.06)));
        assert!(
            steady.is_none() && varying.as_ref().is_some_and(|text| text.ends_with("standard deviation of 6.0 points")),
            "{varying:?}"
        );
    }

    /// Regression: sentences used to contain `untrained:bert-mini`, which is the notation of specs.
    #[test]
    fn an_untrained_side_is_called_a_copy() {
        assert_eq!(in_words("untrained:bert-mini, layer 2"), "untrained copy of bert-mini, layer 2");
        assert_eq!(in_words("bert-mini"), "bert-mini");
    }

    #[test]
    fn without_a_comparison_there_is_nothing_to_say() {
        assert_eq!(answer(&Results::default(), &Spec::shipped()), Answer::default());
    }
}
