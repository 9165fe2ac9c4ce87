//! Counts the work that a map adds to a run.

use crate::experiment::forecast::{ASSESS, BARE, FIT, READ, named, resolve, strengths, to_train, unread};
use crate::experiment::panel::Which;
use crate::experiment::prepare::Bench;
use crate::experiment::training::is_shared;
use crate::spec::{MethodSpec, Spec};
use lab::demand::{Size, WORDS, Work};
use lab::store::Store;

/// Number of strengths that a method tries at its own layer to find the strength of the row.
fn tried(spec: &Spec, method: &MethodSpec) -> usize {
    let given = spec.map.as_ref().is_some_and(|map| map.value.contains_key(&method.name));
    if given { 1 } else { strengths(method) }
}

/// Adds the map's units of work and steps of training.
pub(crate) fn count(bench: &Bench, store: &dyn Store, work: &mut Work, training: &mut Work) {
    let (Some(spec), Some(last)) = (&bench.spec.map, bench.map.last()) else { return };
    let (test, replicates) = (bench.test.len() as f64, bench.spec.probe.replicates);
    let oracles = bench.spec.probe.oracles.len() as f64;
    let rows = bench.split.intervention().train().len() as f64;
    let tokens = bench.stimuli.tokens(&bench.test);
    let read = format!("{READ} {} {}", bench.model.hash(), bench.site.layer);
    // One unit of reading is the pass of one token through the model up to the spec's own layer.
    let block = 1.0 / bench.site.layer as f64;
    let to = if bench.model.has_head() { bench.model.depth() } else { *last };
    let assess = format!("{ASSESS} {} {}", bench.test.len(), bench.resample_count);
    for (at, layer) in bench.map.iter().enumerate() {
        let (here, later) = (bench.at_layer(*layer), (bench.map.len() - at - 1) as f64);
        if here.site != bench.site {
            work.add(&read, unread(&here, store) * *layer as f64 * block);
            to_train(&here, store, 0, &mut |_, kind, units| training.add(kind, units));
        }
        let mut passes = 1.0;
        for (i, m) in bench.spec.methods.iter().enumerate().filter(|(_, m)| spec.has(&m.name)) {
            let Some((method, options)) = resolve(m) else { continue };
            let fits = if is_shared(method) { 1 } else { replicates };
            for k in (1..=fits).filter(|_| *layer != bench.site.layer && !method.needs.mlp) {
                let key = here.fit_key(method, &options, Which::Replicate(k));
                if key.is_some_and(|k| store.trained(&k).is_none()) {
                    work.add(&named(bench, FIT, i), rows);
                }
            }
            let values = tried(&bench.spec, m) as f64;
            work.add(&named(bench, BARE, i), (values + 1.0) * test * replicates as f64);
            work.add(&assess, oracles * (values + later));
            passes += replicates as f64;
        }
        if later > 0.0 {
            work.add(&read, passes * tokens as f64 * (to - layer) as f64 * block);
        }
    }
}

/// Number of multiply-adds of the map, from its spec alone. Texts run through the model once for each layer of the map, and onward from
/// there for every method and replicate. `prepare` is the cost of the probes of one layer; `judge` is the cost of one strength on all
/// test examples and replicates.
pub(crate) fn multiply_adds(spec: &Spec, size: &Size, (prepare, judge): (u128, &dyn Fn(&MethodSpec) -> u128)) -> u128 {
    let Some(map) = &spec.map else { return 0 };
    let Ok(layers) = map.resolve(size.blocks) else { return 0 };
    let examples = spec.task.examples as u128;
    let through = |l: &usize| size.through(*l);
    let methods: Vec<&MethodSpec> = spec.methods.iter().filter(|m| map.has(&m.name)).collect();
    let judged: u128 = methods.iter().map(|m| (tried(spec, m) as u128 + 1) * judge(m)).sum();
    let passes = 1 + methods.len() as u128 * spec.probe.replicates as u128;
    let row = |l: &usize| {
        let on = examples / 5 * WORDS * (size.through(size.blocks) - through(l));
        examples * WORDS * through(l) + passes * on + prepare + judged
    };
    layers.iter().map(row).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::counted;
    use crate::spec::MapSpec;
    use lab::layer::LayerRef;

    const SIZE: Size = Size { blocks: 4, width: 64, parameters: 400_000 };

    fn counted_with(map: Option<MapSpec>) -> u128 {
        counted::of(&Spec { map, ..Spec::shipped() }, &[SIZE])
    }

    #[test]
    fn map_work_grows_with_layers_methods_and_strengths() {
        let at = |layers: &[usize]| layers.iter().map(|l| LayerRef::At(*l)).collect();
        let (two, all) = (MapSpec { layers: at(&[1, 2]), ..MapSpec::default() }, MapSpec::default());
        let one = MapSpec { methods: vec!["pgd".into()], ..all.clone() };
        let given = MapSpec { value: [("pgd".to_owned(), 0.112)].into(), ..one.clone() };
        let [none, two, all, one, given] = [None, Some(two), Some(all), Some(one), Some(given)].map(counted_with);
        assert!(none < given && given < one && one < all && two < all, "{none} {given} {one} {all} {two}");
        // Without a given strength, all strengths are tried, and most of the map's work is then PGD's.
        let strengths = strengths(Spec::shipped().methods.iter().find(|m| m.name == "pgd").unwrap()) as u128;
        let swept = (one - none) - (given - none);
        assert!(swept * (strengths + 1) / (strengths - 1) <= one - none, "{swept} of {}", one - none);
        let gone = MapSpec { layers: at(&[9, 10]), ..MapSpec::default() };
        assert_eq!(counted_with(Some(gone)), none, "layers that the model lacks add no work");
    }
}
