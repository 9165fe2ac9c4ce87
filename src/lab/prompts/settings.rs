//! The fields of this lab's spec as settings, one row per parameter.

use super::candidates::Candidates;
use super::consistency::Scoring;
use super::places::Ties;
use super::relations::Relations;
use super::spec::{NO_WORDS, OWN_WORDS, Sharing, Spec, Weighting};
use base::numbers::number;
use base::text::last_part;
use lab::setting::rows::{level, models, row, seed, typed};
use lab::setting::{Kind, Known, Range, Setting, SettingError, Value};

/// Text shown if the spec names no file.
const BUILT_IN: &str = "built in";

/// All fields, in the order of the setup pane.
pub fn settings() -> Vec<Setting<Spec>> {
    let [tuned, triggers, found_on, rounds] = super::tuned::settings();
    vec![
        models("The models to compare; a fact is used only if its object is a single token in all of them."),
        files(),
        relations(),
        candidates(),
        most_prompts(),
        instances(),
        mentions(),
        weights(),
        sampled_prompts(),
        draws(),
        subset(),
        random(),
        ties(),
        scoring(),
        ledger(),
        mixtures(),
        trained(),
        text(),
        epochs(),
        steps(),
        batch(),
        rate(),
        masking(),
        tuned,
        triggers,
        found_on,
        rounds,
        k(),
        case(),
        function_words(),
        level(),
        seed("Seed for all random numbers in the run."),
    ]
}

/// A name from a spec with spaces instead of underscores.
fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

fn files() -> Setting<Spec> {
    let help = "Facts and prompts in place of the built-in relations; give a file or folder (LAMA, ParaRel, LPAQA, BEAR, causalEval, plain rows).";
    row("data.files", "Data", help)
        .file(
            BUILT_IN,
            |s: &Spec| s.data.files.first().cloned(),
            |s, path| {
                s.data.files = path.map(|p| typed(&s.data.base, p)).into_iter().collect();
                (s.data.built_in, s.data.whole) = (false, false);
                // The named relations belong to the previous data.
                s.data.relations.forget();
                s.data.own.clear();
            },
        )
        .shown(|spec, _| {
            let first = last_part(spec.data.files.first().map_or(BUILT_IN, String::as_str));
            match spec.data.files.len() + usize::from(spec.data.built_in) {
                0 | 1 => first.to_owned(),
                n => format!("{first} and {} more", n - 1),
            }
        })
}

fn relations() -> Setting<Spec> {
    let help = "Relations to test: functional, all or one; functional ones are not marked N-M (several objects per subject), and a spec file can list several relations.";
    let choices = |known: &Known| -> Vec<Relations> {
        let single = known.relations.iter().map(|r| Relations::from([r.id.as_str()]));
        Relations::CHOICES.into_iter().chain(single).collect()
    };
    let kind = |_: &Spec, known: &Known| {
        let named = known.relations.iter().map(|r| match r.label.is_empty() || r.label == r.id {
            true => r.id.clone(),
            false => format!("{}: {}", r.id, r.label),
        });
        Kind::Choice(Relations::CHOICES.iter().map(Relations::text).chain(named).collect())
    };
    let get = move |s: &Spec, known: &Known| {
        Value::Choice(choices(known).iter().position(|choice| *choice == s.data.relations))
    };
    let put = move |s: &mut Spec, known: &Known, value: Value| {
        if let Some(choice) = value.choice().and_then(|at| choices(known).into_iter().nth(at)) {
            s.data.relations = choice;
        }
        Ok(())
    };
    Setting::new("data.relations", "Relations", help, kind, get, put).shown(|spec, _| spec.data.relations.text())
}

fn candidates() -> Setting<Spec> {
    let help = "Candidate answers: vocabulary, shared words, or the relation's answers; the vocabulary excludes function words (Cao et al. 2022), shared words are in the vocabulary of every model, and pseudo-log-likelihood also allows multi-token answers.";
    row("query.candidates", "Answers from", help).one_of(
        &Candidates::ALL,
        |c| spaced(c.name()),
        |s: &Spec, c| s.query.candidates == *c,
        |s, c| s.query.candidates = *c,
    )
}

fn weights() -> Setting<Spec> {
    let help = "Prompt weights in the adjusted score, the same for every model; they are uniform (Cao et al. 2022), your own numbers (entered with the prompts or in a spec), or based on the models' perplexity.";
    row("adjust.weights", "Prompt weights", help).one_of(
        &Weighting::ALL,
        |w| spaced(w.name()),
        |s: &Spec, w| s.adjust.weights == *w,
        |s, w| s.adjust.weights = *w,
    )
}

const SHARING: [Sharing; 2] = [Sharing::PerModel, Sharing::Shared];

fn sharing(s: &Sharing) -> String {
    match s {
        Sharing::PerModel => "per model".into(),
        Sharing::Shared => "shared".into(),
    }
}

fn random() -> Setting<Spec> {
    let help = "Prompts and mentions in the random regime; they are drawn separately for each model, as in the published code, or shared by all.";
    row("ranks.random", "Random draws", help).one_of(
        &SHARING,
        sharing,
        |s: &Spec, r| s.ranks.random == *r,
        |s, r| s.ranks.random = *r,
    )
}

fn ledger() -> Setting<Spec> {
    let help = "Prompt and mentions for the two models of a ledger; they are the same for both, or drawn separately.";
    row("ledger.draws", "Ledger draws", help).one_of(
        &SHARING,
        sharing,
        |s: &Spec, r| s.ledger.draws == *r,
        |s, r| s.ledger.draws = *r,
    )
}

/// Parses typed shares: numbers separated by commas, semicolons or spaces.
fn shares(text: &str) -> Result<Vec<f64>, SettingError> {
    let words = text.split([',', ' ', ';']).filter(|w| !w.is_empty());
    let each = words.map(|w| number(w).ok().filter(|g| (0.0..=1.0).contains(g)));
    let mut all: Vec<f64> = each.collect::<Option<_>>().ok_or_else(|| {
        SettingError::Refused("type shares from 0 to 1, separated by commas, for example 0, 0.5, 1".into())
    })?;
    all.sort_by(f64::total_cmp);
    all.dedup();
    Ok(all)
}

fn mixtures() -> Setting<Spec> {
    Setting::new(
        "disparity.gammas",
        "Mixture",
        "Shares γ of sentences that state facts, for example 0, 0.5, 1; the models are trained further on each mixture and then evaluated again.",
        |_, _| Kind::Text("none"),
        |spec: &Spec, _| match &spec.disparity.gammas[..] {
            [] => Value::Unset,
            list => Value::Text(list.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")),
        },
        |spec, _, value| {
            spec.disparity.gammas = shares(&value.text().unwrap_or_default())?;
            Ok(())
        },
    )
}

fn trained() -> Setting<Spec> {
    let names = |spec: &Spec, known: &Known| known.names(&spec.models);
    Setting::new(
        "disparity.models",
        "Trained models",
        "The models to train further on the mixtures; if the list is empty, only the first model of the run is trained.",
        move |spec: &Spec, known| Kind::Marks(names(spec, known)),
        move |spec: &Spec, known| {
            let on = |n: &String| spec.disparity.models.contains(n);
            Value::Marks(names(spec, known).iter().map(on).collect())
        },
        move |spec, known, value| {
            let Value::Marks(on) = value else { return Ok(()) };
            let marked = names(spec, known).into_iter().zip(on).filter(|(_, on)| *on);
            spec.disparity.models = marked.map(|(name, _)| name).collect();
            Ok(())
        },
    )
}

/// Shown for further-pretraining settings that keep the paper's value.
const USUAL: &str = "usual";

fn text() -> Setting<Spec> {
    let help = "A text file with one sentence per line. It replaces Micro-English.";
    row("disparity.text", "Training text", help).file(
        BUILT_IN,
        |s: &Spec| s.disparity.text.clone(),
        |s, path| s.disparity.text = path.map(|p| typed(&s.data.base, p)),
    )
}

fn epochs() -> Setting<Spec> {
    row("disparity.epochs", "Epochs", "Training epochs on each mixture.").count(
        &[1, 2, 3, 5, 10, 20],
        1..=100,
        |s: &Spec| s.disparity.epochs,
        |s, n| s.disparity.epochs = n,
    )
}

fn steps() -> Setting<Spec> {
    row("disparity.steps", "Training steps", "Training steps on each mixture, instead of epochs.").count_or(
        "epochs",
        &[50, 100, 200, 500, 1000, 2000, 5000],
        1..=1_000_000,
        |s: &Spec| s.disparity.steps,
        |s, n| s.disparity.steps = n,
    )
}

fn batch() -> Setting<Spec> {
    row("disparity.batch", "Training batch", "Sentences per training step; usually 32.").count_or(
        USUAL,
        &[8, 16, 32, 64, 128],
        1..=4_096,
        |s: &Spec| s.disparity.batch,
        |s, n| s.disparity.batch = n,
    )
}

fn rate() -> Setting<Spec> {
    row("disparity.rate", "Learning rate", "Peak learning rate of the further pretraining; usually 5e-5.").real_or(
        USUAL,
        &[1e-5, 2e-5, 5e-5, 1e-4, 2e-4],
        Range::real(1e-9, 1.0),
        |s: &Spec| s.disparity.rate,
        |s, r| s.disparity.rate = r,
    )
}

fn masking() -> Setting<Spec> {
    let help = "Share of words masked when training masked language models; usually .15.";
    row("disparity.masking", "Masked share", help).real_or(
        USUAL,
        &[0.1, 0.15, 0.2, 0.3, 0.4],
        Range::real(0.01, 0.95),
        |s: &Spec| s.disparity.masking,
        |s, m| s.disparity.masking = m,
    )
}

fn ties() -> Setting<Spec> {
    let help = "Ranks of tied models; the earlier model gets the lower rank, as in the published code, or all get their mean rank.";
    row("ranks.ties", "Ties", help).one_of(
        &Ties::ALL,
        |t| spaced(t.name()),
        |s: &Spec, t| s.ranks.ties == *t,
        |s, t| s.ranks.ties = *t,
    )
}

fn scoring() -> Setting<Spec> {
    let help =
        "Scores are compared as exact fractions or rounded; the publication rounds them to two decimals in per cent.";
    row("ranks.scoring", "Scores as", help).one_of(
        &Scoring::ALL,
        |t| spaced(t.name()),
        |s: &Spec, t| s.ranks.scoring == *t,
        |s, t| s.ranks.scoring = *t,
    )
}

fn case() -> Setting<Spec> {
    row("query.ignore_case", "Case", "Words that differ only in case: different words, or the same word.").one_of(
        &[false, true],
        |ignored| if *ignored { "ignored".into() } else { "counts".into() },
        |s: &Spec, ignored| s.query.ignore_case == *ignored,
        |s, ignored| s.query.ignore_case = *ignored,
    )
}

/// Shown if there is no limit.
const ALL: &str = "all";
/// Upper limit for the numbers of prompts, facts and mentions.
const MOST: usize = 1_000_000;

fn most_prompts() -> Setting<Spec> {
    row("data.prompts", "Max. prompts", "Maximum number of prompts per relation; the first ones are used.").count_or(
        ALL,
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17],
        1..=MOST,
        |s: &Spec| s.data.prompts,
        |s, n| s.data.prompts = n,
    )
}

fn instances() -> Setting<Spec> {
    row("data.instances", "Max. facts", "Maximum number of facts per relation; the first ones are used.").count_or(
        ALL,
        &[10, 20, 40, 100, 200, 500, 1000],
        1..=MOST,
        |s: &Spec| s.data.instances,
        |s, n| s.data.instances = n,
    )
}

fn sampled_prompts() -> Setting<Spec> {
    row("adjust.prompts", "Prompts averaged", "Number of prompts and names drawn for the adjusted score.").count_or(
        ALL,
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        1..=MOST,
        |s: &Spec| s.adjust.prompts,
        |s, n| (s.adjust.prompts, s.adjust.mentions) = (n, n),
    )
}

fn mentions() -> Setting<Spec> {
    let help = "Maximum number of names per subject, including the usual one; five in Cao et al. 2022.";
    row("data.mentions", "Max. names", help).count(
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        1..=10,
        |s: &Spec| s.data.mentions,
        |s, n| s.data.mentions = n,
    )
}

fn draws() -> Setting<Spec> {
    let help = "Number of draws of relations for rank consistency; 1,000 in Cao et al. 2022.";
    row("ranks.draws", "Ranking draws", help).count(
        &[100, 200, 500, 1000, 2000, 5000, 10_000],
        1..=100_000,
        |s: &Spec| s.ranks.draws,
        |s, n| s.ranks.draws = n,
    )
}

fn subset() -> Setting<Spec> {
    row("ranks.subset", "Ranking sample", "Relations per draw for rank consistency (Cao et al. 2022: 20 of 32).").count(
        &[2, 5, 10, 15, 20, 25, 30],
        1..=10_000,
        |s: &Spec| s.ranks.subset,
        |s, n| s.ranks.subset = n,
    )
}

fn k() -> Setting<Spec> {
    row("query.k", "Top-k", "Number of top answers that count for P@k.").count(
        &[1, 2, 5, 10, 20, 50, 100],
        1..=1000,
        |s: &Spec| s.query.k,
        |s, n| s.query.k = n,
    )
}

fn function_words() -> Setting<Spec> {
    let help = "Words that do not count as answers; choose `own` (the program's list and all punctuation), `none`, or a file of words.";
    row("query.function_words", "Skipped words", help)
        .file(
            OWN_WORDS,
            |s: &Spec| Some(s.query.function_words.clone()).filter(|words| words != OWN_WORDS),
            |s, words| s.query.function_words = words.unwrap_or_else(|| OWN_WORDS.into()),
        )
        .shown(|spec, _| match spec.query.function_words.as_str() {
            OWN_WORDS => "own list".into(),
            NO_WORDS => "none".into(),
            path => last_part(path).to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::LabSpec as _;
    use lab::setting::{KnownModel, KnownRelation};

    fn known() -> Known {
        Known {
            models: vec![
                KnownModel { name: "bert-mini".into(), layers: 4 },
                KnownModel { name: "x".into(), layers: 2 },
            ],
            relations: vec![KnownRelation { id: "field".into(), label: "field of a scientist".into() }],
        }
    }

    #[test]
    fn settings_round_trip_and_specs_stay_valid() {
        let known = known();
        for setting in settings() {
            let mut spec = Spec::shipped();
            let value = match setting.kind(&spec, &known) {
                Kind::Slider { stops, .. } => Value::Number(stops[1]),
                Kind::Integer(_) => Value::Number(7.0),
                Kind::Choice(names) => Value::Choice(Some(names.len() - 1)),
                Kind::Marks(names) => Value::Marks(names.iter().map(|n| n == "bert-mini").collect()),
                Kind::Text(_) if setting.key == "disparity.gammas" => Value::Text("0, 0.5, 1".into()),
                Kind::Text(_) | Kind::File(_) => Value::Text("some/file".into()),
            };
            setting.set(&mut spec, &known, value.clone()).unwrap();
            if !matches!(value, Value::Marks(_)) {
                assert_eq!(setting.get(&spec, &known), value, "{}", setting.key);
            }
            assert!(!setting.text(&spec, &known).is_empty(), "{}", setting.key);
            let printed = spec.check("x");
            assert!(printed.is_ok(), "{}: {printed:?}", setting.key);
        }
    }

    /// Regression: typing a file used to change the folder to which the training text is relative.
    #[test]
    fn typed_file_keeps_other_paths_of_the_spec() {
        let mut spec = Spec::shipped();
        (spec.data.base, spec.disparity.text) = ("/specs".into(), Some("text.txt".into()));
        let row = settings().into_iter().find(|s| s.key == "data.files").unwrap();
        row.set(&mut spec, &known(), Value::Text("own.jsonl".into())).unwrap();
        assert_eq!(spec.text_path(), Some("/specs/text.txt".into()));
        assert_eq!(spec.data.paths(), [std::path::absolute("own.jsonl").unwrap()]);
    }

    #[test]
    fn keys_are_distinct_and_labels_fit_their_column() {
        let all = settings();
        for (i, s) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|o| o.key != s.key));
            assert!(s.label.chars().count() <= 17, "{}", s.label);
        }
    }

    #[test]
    fn mixtures_are_typed_as_shares() {
        let mut spec = Spec::shipped();
        let mixtures = settings().into_iter().find(|s| s.key == "disparity.gammas").unwrap();
        mixtures.set(&mut spec, &known(), Value::Text("1 0,50%".into())).unwrap();
        assert_eq!(spec.disparity.gammas, [0.0, 0.5, 1.0]);
        for wrong in ["2", "-0.1", "half"] {
            let printed = mixtures.set(&mut spec, &known(), Value::Text(wrong.into())).unwrap_err();
            assert!(printed.to_string().contains("0 to 1"), "{printed}");
        }
        mixtures.set(&mut spec, &known(), Value::Unset).unwrap();
        assert!(spec.disparity.is_off());
    }

    #[test]
    fn changed_data_drop_named_relations() {
        let mut spec = Spec::shipped();
        spec.data.relations = ["capital"].into();
        let files = settings().into_iter().find(|s| s.key == "data.files").unwrap();
        files.set(&mut spec, &known(), Value::Text("/data/lama/".into())).unwrap();
        assert!(spec.data.relations.is_empty());
        assert_eq!(files.text(&spec, &known()), "lama");
    }
}
