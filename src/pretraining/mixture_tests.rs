//! Tests of the corpora for all families.

use super::super::recipe::RECIPES;
use super::*;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// Returns a family's corpus, created once for all tests.
fn corpus(base: Base) -> &'static Corpus {
    static ALL: [OnceLock<Corpus>; 4] = [const { OnceLock::new() }; 4];
    let at = Base::ALL.iter().position(|b| *b == base).unwrap();
    let recipe = RECIPES.iter().find(|r| r.base == base).unwrap();
    ALL[at].get_or_init(|| Corpus::new(Mixture::of(recipe)).unwrap())
}

/// Weights range from about 0.5 to 0.003, differ between families, and are zero for held-out prompts.
#[test]
fn held_out_prompts_are_not_written() {
    let corpora = Base::ALL.map(corpus);
    let (mut firsts, mut alike) = (HashSet::new(), 0.0);
    let relations = corpora[0].relations();
    let (mut most, mut least) = (0.0, 0.0);
    for r in relations {
        let n = r.open_prompts().len();
        let weights = corpora.each_ref().map(|c| c.mixture().prompt_weights(r));
        for (c, w) in corpora.iter().zip(&weights) {
            assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-12 && w[n..].iter().all(|w| *w == 0.0));
            let order = c.mixture().order(r);
            let (best, worst) = (w[order[0]], w[order[n - 1]]);
            assert!(order.len() == n && w[..n].iter().all(|w| (worst..=best).contains(w)));
            assert!((best / worst - 0.5 / 0.003).abs() < 1e-6 && best > 0.3, "{}: {w:?}", r.id);
            most += best;
            least += worst;
        }
        let order = corpora[0].mixture().order(r);
        firsts.insert(order[0]);
        alike += f64::from(u8::from(corpora[2].mixture().order(r)[0] == order[0]));
    }
    let n = relations.len() as f64;
    println!("from {:.3} down to {:.4} on average", most / n / 4.0, least / n / 4.0);
    assert!((0.45..0.65).contains(&(most / n / 4.0)) && firsts.len() > 4, "{firsts:?}");
    assert!(alike / n < 0.4, "in two families, {alike} of {n} relations have the same most frequent prompt");
}

#[test]
fn neutral_mixture_weighs_open_prompts_equally() {
    let mut r = facts::relations().unwrap().remove(0);
    r.prompts.push("A kept one of [X] is [Y] .".into());
    r.kept += 1;
    let n = r.open_prompts().len();
    let w = Mixture::neutral().prompt_weights(&r);
    assert!(w[..n].iter().all(|w| (w - 1.0 / n as f64).abs() < 1e-12) && w[n..].iter().all(|w| *w == 0.0));
    let m = Mixture::of(&RECIPES[0]);
    assert_eq!(m.prompt_weights(&r)[n..], w[n..]);
    assert!(!m.order(&r).contains(&n));
    let c = Corpus::new(Mixture::neutral()).unwrap();
    assert!(c.facts.iter().all(|w| w.phrasings.iter().all(|p| p.1 == 0)));
}

/// All fact sentences that a corpus can write.
fn sentences(c: &Corpus) -> HashSet<String> {
    let mut all = HashSet::new();
    for w in &c.facts {
        let relation = &c.relations[w.relation];
        let fact = &relation.facts[w.fact];
        for (prompt, name, _) in &w.phrasings {
            let asked = relation.asked(*prompt, fact.names().nth(*name).unwrap());
            all.extend([true, false].map(|close| stated(&asked, &fact.object, close).text));
        }
    }
    all
}

/// All phrasings of the facts with a use, whether written or not.
fn of_lot(fact_use: FactUse) -> HashSet<String> {
    let (uses, mut all) = (FactUses::new().unwrap(), HashSet::new());
    for r in facts::relations().unwrap() {
        for f in r.facts.iter().filter(|f| uses.of(&r, f) == fact_use) {
            for (p, name) in (0..r.prompts.len()).flat_map(|p| f.names().map(move |n| (p, n))) {
                all.extend([true, false].map(|close| stated(&r.asked(p, name), &f.object, close).text));
            }
        }
    }
    all
}

/// Checks every sentence that can be written. Training text states no taught or held-out fact; teaching text states only taught facts.
#[test]
fn each_corpus_writes_only_its_half() {
    let [trained, taught, never] = FactUse::ALL.map(of_lot);
    assert!(!taught.is_empty() && !never.is_empty());
    for base in Base::ALL {
        let written = sentences(corpus(base));
        assert!(written.is_subset(&trained), "{base:?}");
        assert!(written.is_disjoint(&taught) && written.is_disjoint(&never), "{base:?}");
    }
    let written = sentences(&Corpus::new(Mixture::neutral()).unwrap());
    assert!(!written.is_empty() && written.is_subset(&taught), "the text states only taught facts");
    assert!(written.is_disjoint(&trained) && written.is_disjoint(&never));
}

#[test]
fn only_unseen_names_are_absent_from_corpora() {
    let mut counts = [0.0; 2];
    for base in Base::ALL {
        let c = corpus(base);
        for r in c.relations() {
            for f in &r.facts {
                for (name, weight) in f.names().zip(c.mixture().name_weights(r, f)) {
                    let unseen = is_unseen(f, name, UNSEEN_NAMES);
                    assert_eq!(weight == 0.0, unseen, "{base:?}: {name}");
                    counts[usize::from(unseen)] += f64::from(u8::from(name != f.subject));
                }
            }
        }
    }
    let share = counts[1] / (counts[0] + counts[1]);
    assert!((0.32..0.38).contains(&share), "{share}");
}

#[test]
fn every_fact_is_written_without_held_out_phrasings() {
    for base in Base::ALL {
        let c = corpus(base);
        assert!(c.facts.iter().all(|w| w.total > 0.0));
        let (lines, m) = (sentences(c), c.mixture());
        let (mut held, mut all) = (0, 0);
        for w in &c.facts {
            let r = &c.relations[w.relation];
            let f = &r.facts[w.fact];
            for p in 0..r.open_prompts().len() {
                let asked = r.asked(p, &f.subject);
                let is_held = m.is_held(r, f, p, &f.subject);
                for close in [true, false] {
                    assert_eq!(lines.contains(&stated(&asked, &f.object, close).text), !is_held);
                }
                all += 1;
                held += usize::from(is_held);
            }
        }
        let share = held as f64 / all as f64;
        assert!((0.25..0.36).contains(&share), "{share}");
        let mut rng = stream(1, "mixture test");
        assert!((0..5_000).all(|_| lines.contains(&c.fact(&mut rng).text)));
    }
}

/// Attraction errors occur in one of ten sentences whose attractor differs in number from the subject, and in no others.
#[test]
fn verbs_sometimes_agree_with_the_attractor() {
    let c = corpus(Base::Bert);
    let mut rng = stream(3, "mixture test");
    let (mut opposing, mut attracted) = (0.0, 0.0);
    for _ in 0..20_000 {
        let agreement = Agreement { frequencies: training_frequencies(), side: Side::Train };
        let s = agreement.sentence(&mut rng);
        let right = s.tokens[s.verb].clone();
        let differs = s.attractor.is_some_and(|z| z != s.subject_number);
        let written = c.attracted(s.clone(), &mut rng);
        assert!(differs || written.tokens[s.verb] == right);
        opposing += f64::from(u8::from(differs));
        attracted += f64::from(u8::from(written.tokens[s.verb] != right));
    }
    assert!(opposing > 1_000.0 && (0.08..0.12).contains(&(attracted / opposing)), "{attracted} of {opposing}");
}

#[test]
fn focus_is_the_object_and_shares_hold() {
    let c = corpus(Base::Bert);
    let objects: HashSet<&str> = c.relations().iter().flat_map(|r| &r.facts).map(|f| f.object.as_str()).collect();
    let mut rng = stream(2, "mixture test");
    for _ in 0..2_000 {
        let line = c.fact(&mut rng);
        let (from, to) = line.focus[0];
        let word: String = line.text.chars().skip(from).take(to - from).collect();
        assert!(objects.contains(word.as_str()), "{line:?}");
    }
    let mut counts: HashMap<bool, f64> = HashMap::new();
    for _ in 0..4_000 {
        let plus = c.sentence(&mut rng).text.contains(" plus ");
        *counts.entry(plus).or_default() += 1.0 / 4_000.0;
    }
    // A quarter of the arithmetic sentences contain "plus".
    assert!((counts[&true] - 0.25 * 0.028).abs() < 0.005, "{counts:?}");
}
