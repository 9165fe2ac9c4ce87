//! Comparison of two runs: the numbers in both, with their differences.

use crate::answer::listed;
use crate::family::ALPHA;
use base::numbers::probability;
use base::text::{section, width, wrapped};
use figure::layers::Count;
use stats::Estimate;
use stats::corrections::holm;
use stats::mcnemar::chi2_tail;
use stats::special::normal_quantile;

#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    /// Name within the group, the same in every run that measures the number.
    pub name: String,
    /// The model and the judging oracle, used as the heading of rows; empty if the name includes them.
    pub group: String,
    /// The ends are NaN if there is no interval.
    pub value: Estimate,
    /// Number of examples; both numbers if two samples were used.
    pub n: Count,
    /// Confidence level of the interval.
    pub level: f64,
    /// Factor and unit for display: 100 and ` points` for proportions.
    pub unit: (f64, &'static str),
    /// True if the answer does not rely on the number. Its difference then never counts as significant.
    pub distrusted: bool,
    /// Set for a number that is compared only if the runs do not have another one in common.
    pub stands_in: Option<StandIn>,
}

/// The reason for comparing a number instead of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// Name of the other number, in the same group.
    pub of: String,
    /// The method and the oracle to which the number belongs.
    pub who: String,
    /// The reason why this run lacks the other number; empty if it has it.
    pub why: String,
}

/// A number measured in both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    pub a: Number,
    pub b: Number,
    /// Second minus first, with its interval by square-and-add.
    pub difference: Estimate,
    /// p-value for the hypothesis of no difference, computed from the interval's arm towards 0; `None` without an interval.
    pub p: Option<f64>,
}

/// The numbers of two runs, each once: those of both runs, in the order of the first, and those of only one.
#[derive(Debug, Clone, Default)]
pub struct Paired {
    pub common: Vec<Common>,
    pub alone: [Vec<Number>; 2],
}

/// Pairs the numbers of two runs by name and group.
///
/// If both runs have equally many models, models in the same position are compared, and names show both. Runs are treated as independent,
/// because it is unknown which examples they share. The interval adds the squares of both intervals' arms (Newcombe 1998, Zou and Donner
/// 2008), which preserves their asymmetry. For differences between proportions of 5 examples, symmetric intervals from half-widths would
/// cover only 83 %; with 20 examples, 91 %.
pub fn pair((a, of_a): (&[Number], &[String]), (b, of_b): (&[Number], &[String])) -> Paired {
    let swapped = of_a.len() == of_b.len() && of_a != of_b;
    let mut taken = vec![false; b.len()];
    let mut out = Paired::default();
    for a in a {
        let same = |b: &Number| (&b.name, &b.group) == (&a.name, &a.group);
        let of = |n: &Number, models: &[String]| [&n.name, &n.group].map(|text| roles(text, models));
        let in_place = |b: &Number| swapped && of(b, of_b) == of(a, of_a);
        let find = |fits: &dyn Fn(&Number) -> bool| (0..b.len()).find(|i| !taken[*i] && fits(&b[*i]));
        let (at, is_same) = (find(&same).or_else(|| find(&in_place)), find(&same).is_some());
        let Some(at) = at else {
            out.alone[0].push(a.clone());
            continue;
        };
        taken[at] = true;
        let printed = |text: &str| if is_same { text.to_owned() } else { with_both(text, of_a, of_b) };
        let a = Number { name: printed(&a.name), group: printed(&a.group), ..a.clone() };
        out.common.push(difference(a, b[at].clone()));
    }
    out.alone[1] = b.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(b, _)| b.clone()).collect();
    let has = |c: &Common| c.a.stands_in.is_none().then(|| (c.a.group.clone(), c.a.name.clone()));
    let main: Vec<(String, String)> = out.common.iter().filter_map(has).collect();
    let is_needed = |c: &Common, of: &str| !main.iter().any(|(group, name)| *group == c.a.group && name == of);
    out.common.retain(|c| c.a.stands_in.as_ref().is_none_or(|other| is_needed(c, &other.of)));
    out.alone.iter_mut().for_each(|alone| alone.retain(|n| n.stands_in.is_none()));
    out
}

/// The difference of a number in two runs.
fn difference(a: Number, b: Number) -> Common {
    let z = |level: f64| normal_quantile(0.5 + 0.5 * level);
    let scale = z(a.level) / z(b.level);
    let arms = |x: &Number| (x.value.mean - x.value.lo, x.value.hi - x.value.mean);
    let ((a_down, a_up), (b_down, b_up)) = (arms(&a), arms(&b));
    let (down, up) = ((scale * b_down).hypot(a_up), (scale * b_up).hypot(a_down));
    let mean = b.value.mean - a.value.mean;
    let towards = if mean > 0.0 { down } else { up };
    let p = (towards > 0.0).then(|| chi2_tail((z(a.level) * mean / towards).powi(2)));
    Common { difference: Estimate { mean, lo: mean - down, hi: mean + up }, a, b, p }
}

/// Explains why other numbers are compared for a run. `of` selects this run's side.
pub fn replacements(place: usize, common: &[Common], of: fn(&Common) -> &Number) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for lacking in common.iter().filter_map(|c| of(c).stands_in.as_ref()).filter(|lacking| !lacking.why.is_empty()) {
        match reasons.iter_mut().find(|(why, _)| *why == lacking.why) {
            Some((_, who)) if who.contains(&lacking.who) => {}
            Some((_, who)) => who.push(lacking.who.clone()),
            None => reasons.push((&lacking.why, vec![lacking.who.clone()])),
        }
    }
    let all: Vec<String> =
        reasons.iter().map(|(why, who)| format!("for {}: {why}", listed(who, "methods and oracles"))).collect();
    let run = figure::capital(&run_name(place));
    (!all.is_empty())
        .then(|| format!("{run} has no best strength {}. Compared at equal strengths instead.", all.join("; ")))
}

/// Replaces model names with their positions, longer names first because one may contain another.
fn replaced(name: &str, models: &[String], by: impl Fn(usize) -> String) -> String {
    let mut order: Vec<usize> = (0..models.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(models[*i].len()));
    let mark = |i: usize| format!("\u{1}{i}\u{1}");
    let marked = order.iter().fold(name.to_owned(), |text, i| text.replace(&models[*i], &mark(*i)));
    order.iter().fold(marked, |text, i| text.replace(&mark(*i), &by(*i)))
}

fn roles(name: &str, models: &[String]) -> String {
    replaced(name, models, |i| format!("\u{1}{i}"))
}

fn with_both(name: &str, of_a: &[String], of_b: &[String]) -> String {
    replaced(name, of_a, |i| match of_a[i] == of_b[i] {
        true => of_a[i].clone(),
        false => format!("{} | {}", of_a[i], of_b[i]),
    })
}

/// States in one line how many numbers both runs have, how many of these differ significantly, and how many only one run has. `shared` as
/// in [`table`].
pub fn verdict(paired: &Paired, shared: bool) -> String {
    let (tested, same): (Vec<&Common>, Vec<&Common>) = paired.common.iter().partition(|c| !c.is_same(shared));
    let alone = match paired.alone.iter().map(Vec::len).sum::<usize>() {
        0 => String::new(),
        n => format!("; {n} in one run only"),
    };
    match (tested.len(), same.len()) {
        (0, 0) => return format!("The runs have no comparable results in common{alone}."),
        (0, n) => {
            return format!(
                "Nothing differs: {} the same in both runs{alone}.",
                counted(n, "number is", "numbers are")
            );
        }
        _ => {}
    }
    let p: Vec<(f64, bool)> =
        tested.iter().zip(adjusted(&tested)).filter_map(|(c, p)| Some((p?, c.is_trusted()))).collect();
    let of = |trusted: bool| p.iter().filter(|(p, is_trusted)| *p <= ALPHA && *is_trusted == trusted).count();
    let differ =
        |n: usize| format!("{n} {} significantly after Holm's adjustment", if n == 1 { "differs" } else { "differ" });
    let mut parts = Vec::new();
    match (of(true), of(false)) {
        _ if p.is_empty() => {}
        (0, 0) => parts.push("none differs significantly after Holm's adjustment".to_owned()),
        (0, 1) => parts.push(format!("{}, but it does not affect the answer", differ(1))),
        (0, n) => parts.push(format!("{}, but none of them affects the answer", differ(n))),
        (n, 0) => parts.push(differ(n)),
        (n, more) => parts.push(format!("{}, and so do {more} that do not affect the answer", differ(n))),
    }
    let be = |n: usize| if n == 1 { "is" } else { "are" };
    if !same.is_empty() {
        parts.push(format!("{} {} identical", same.len(), be(same.len())));
    }
    match tested.len() - p.len() {
        0 => {}
        n => parts.push(format!("{n} without intervals {} not tested", be(n))),
    }
    let count = counted(paired.common.len(), "number", "numbers");
    format!("{count} in both runs: {}{alone}.", parts.join("; "))
}

/// Names the numbers that only this run has, which are not compared.
pub fn alone(place: usize, numbers: &[Number]) -> Option<String> {
    const NAMED: usize = 3;
    let left: Vec<String> = numbers.iter().map(full_name).collect();
    let run = if place == 0 { "the example".to_owned() } else { format!("run {place}") };
    let named = left.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    let more = if left.len() > NAMED { format!("; and {} more", left.len() - NAMED) } else { String::new() };
    let count = counted(left.len(), "number", "numbers");
    (!left.is_empty()).then(|| format!("Not compared: {count} that only {run} has ({named}{more})."))
}

fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Formats the numbers as aligned lines, the most certain differences first, and states the method.
///
/// `shared` is true if both runs test the same examples. To fit lines into `room` cells, the table first drops unadjusted p-values, then
/// breaks long names, then drops counts, then the two values.
pub fn table(places: (usize, usize), numbers: &[Common], shared: bool, room: usize) -> Vec<String> {
    let (tested, same): (Vec<&Common>, Vec<&Common>) = numbers.iter().partition(|c| !c.is_same(shared));
    let mut out = Vec::new();
    let adjusted = adjusted(&tested);
    let mut rows: Vec<(&Common, Option<f64>)> = tested.into_iter().zip(adjusted).collect();
    let p = |c: &Common| c.p.unwrap_or(f64::INFINITY);
    rows.sort_by(|x, y| p(x.0).total_cmp(&p(y.0)));
    let mut groups: Vec<&str> = Vec::new();
    for (c, _) in &rows {
        if !groups.contains(&c.a.group.as_str()) {
            groups.push(&c.a.group);
        }
    }
    let parts = |leave_out: &[&str], breaks: bool| {
        let mut part = Vec::new();
        groups
            .iter()
            .for_each(|group| section_of(&mut part, places, (group, &rows), leave_out, breaks.then_some(room)));
        part
    };
    let (first, second) = names_of(places);
    let fewest = ["p", "n", first.as_str(), second.as_str()];
    let forms = [(0, false), (1, false), (1, true), (2, false), (2, true)];
    let fits = |part: &Vec<String>| part.iter().all(|line| width(line) <= room);
    let all = forms.into_iter().map(|(cut, breaks)| parts(&fewest[..cut], breaks)).find(fits);
    out.extend(all.unwrap_or_else(|| parts(&fewest, false)));
    for of_group in same.chunk_by(|c, d| c.a.group == d.a.group) {
        let group = &of_group[0].a.group;
        let of = if group.is_empty() { String::new() } else { format!(", {group}") };
        out.extend([String::new(), format!("{SAME_IN_BOTH}{of}:")]);
        out.extend(of_group.iter().map(|c| format!("  {}: {}", c.a.name, value_of(&c.a, c.a.value.mean))));
    }
    if rows.is_empty() {
        return out;
    }
    out.push(String::new());
    let differs = |trusted: bool| rows.iter().any(|(c, p)| c.is_trusted() == trusted && p.is_some_and(|p| p <= ALPHA));
    if differs(true) {
        out.push("* significant after Holm's adjustment for all numbers tested here.".into());
    }
    if differs(false) {
        out.push(DISTRUSTED.into());
    }
    if rows.iter().any(|(c, _)| c.difference.lo.is_nan()) {
        out.push(NO_INTERVAL.into());
    }
    out.push(if shared { SAME_EXAMPLES } else { OTHER_EXAMPLES }.into());
    out
}

/// Start of the heading above the numbers that differ.
pub const IN_BOTH: &str = "Numbers in both runs";
const SAME_IN_BOTH: &str = "The same in both";
const DISTRUSTED: &str =
    "Numbers with an unreliable oracle or strength have no star, because the answer does not rely on them.";
const NO_INTERVAL: &str = "A difference has an interval and a test only if both numbers have intervals. Results of two training runs or of a single example have no interval.";
/// Explains the comparison of runs that differ only in their models.
const SAME_EXAMPLES: &str = "Both runs test the same examples but store no result per example. The test therefore treats the samples as independent (Newcombe 1998), and its intervals are usually wider than paired ones.";
/// Explains the comparison of all other runs.
const OTHER_EXAMPLES: &str = "The settings that differ may change the examples, so the runs are compared as independent samples (Newcombe 1998).";

impl Common {
    fn is_trusted(&self) -> bool {
        !self.a.distrusted && !self.b.distrusted
    }

    /// True if both runs made the same measurement on the same examples.
    fn is_same(&self, shared: bool) -> bool {
        let Self { a, b, .. } = self;
        let ends = |x: &Number| [x.value.mean, x.value.lo, x.value.hi].map(f64::to_bits);
        shared && (&a.name, &a.group, ends(a), a.n) == (&b.name, &b.group, ends(b), b.n)
    }
}

fn full_name(number: &Number) -> String {
    let group = &number.group;
    if group.is_empty() { number.name.clone() } else { format!("{}, {group}", number.name) }
}

fn value_of(number: &Number, x: f64) -> String {
    let factor = number.unit.0;
    let decimals = if factor > 1.0 { 1 } else { 3 };
    format!("{:.decimals$}", factor * x).replacen("0.", ".", usize::from(x.abs() < 1.0 && factor == 1.0))
}

/// The name of a run; number 0 is the recorded example.
pub fn run_name(number: usize) -> String {
    if number == 0 { "example".into() } else { format!("run {number}") }
}

/// Column headings for the two runs, which may have the same number in different sessions.
fn names_of((a, b): (usize, usize)) -> (String, String) {
    if a == b { ("first".into(), "second".into()) } else { (run_name(a), run_name(b)) }
}

/// Minimum width in cells of a name that is broken.
const NAME: usize = 16;

/// Appends the aligned rows of a group without the columns in `leave_out`. Names are broken so that rows fit `room`, if given.
fn section_of(
    out: &mut Vec<String>,
    places: (usize, usize),
    (group, numbers): (&str, &[(&Common, Option<f64>)]),
    leave_out: &[&str],
    room: Option<usize>,
) {
    let mine: Vec<_> = numbers.iter().filter(|(c, _)| c.a.group == group).collect();
    // A shared unit moves to the column heading.
    let unit = mine.first().map_or("", |(c, _)| c.a.unit.1);
    let shared = mine.iter().all(|(c, _)| c.a.unit.1 == unit);
    let row = |(c, adjusted): &(&Common, Option<f64>)| {
        let show = |x: f64| value_of(&c.a, x);
        let signed = |x: f64| {
            let text = show(x.abs());
            // A number that rounds to 0 is shown without a sign.
            let sign = match text.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
                true if x < 0.0 => "-",
                true => "+",
                false => "",
            };
            format!("{sign}{text}")
        };
        let d = c.difference;
        let n = if c.a.n == c.b.n { c.a.n.to_string() } else { format!("{}, {}", c.a.n, c.b.n) };
        let mark = |p: f64| format!("{}{}", probability(p), if p <= ALPHA && c.is_trusted() { " *" } else { "" });
        let unit = if shared { "" } else { c.a.unit.1 };
        vec![
            c.a.name.clone(),
            n,
            show(c.a.value.mean),
            show(c.b.value.mean),
            match d.lo.is_nan() {
                true => format!("{}{unit}", signed(d.mean)),
                false => format!("{} [{}, {}]{unit}", signed(d.mean), signed(d.lo), signed(d.hi)),
            },
            c.p.map_or("–".into(), probability),
            adjusted.map_or("–".into(), mark),
        ]
    };
    let (first, second) = names_of(places);
    let difference = if shared && !unit.is_empty() { format!("difference,{unit}") } else { "difference".into() };
    let columns = ["number", "n", &first, &second, &difference, "p", "p, Holm"];
    let kept: Vec<usize> = (0..columns.len()).filter(|i| !leave_out.contains(&columns[*i])).collect();
    let only = |row: Vec<String>| kept.iter().map(|i| row[*i].clone()).collect::<Vec<_>>();
    let columns: Vec<&str> = kept.iter().map(|i| columns[*i]).collect();
    let mut rows: Vec<Vec<String>> = mine.into_iter().map(row).map(only).collect();
    if let Some(room) = room {
        let wide = |c: usize| rows.iter().map(|row| width(&row[c])).fold(width(columns[c]), usize::max) + 2;
        let left = room.saturating_sub((1..columns.len()).map(wide).sum::<usize>() + 2).max(NAME);
        rows = rows.into_iter().flat_map(|row| broken(row, left)).collect();
    }
    let of = if group.is_empty() { String::new() } else { format!(": {group}") };
    section(out, &format!("{IN_BOTH}{of}"), &columns, rows);
}

/// Splits a row whose name is longer than `left` into several rows.
fn broken(row: Vec<String>, left: usize) -> Vec<Vec<String>> {
    let names = wrapped(&row[0], left.saturating_sub(2)).into_iter().enumerate();
    let rest = |i: usize, name: String| {
        let cells = row[1..].iter().map(move |cell| if i == 0 { cell.clone() } else { String::new() });
        std::iter::once(if i == 0 { name } else { format!("  {name}") }).chain(cells).collect()
    };
    names.map(|(i, name)| rest(i, name)).collect()
}

/// Holm-adjusted p-values in the order of the numbers; `None` for a number without a p-value.
fn adjusted(numbers: &[&Common]) -> Vec<Option<f64>> {
    let p: Vec<f64> = numbers.iter().filter_map(|c| c.p).collect();
    let mut adjusted = holm(&p).into_iter();
    numbers.iter().map(|c| c.p.and_then(|_| adjusted.next())).collect()
}

#[cfg(test)]
mod tests;
