//! The logit lens of a run, which compares the language model head with a linear oracle at each layer.

use super::forecast::READ;
use super::prepare::Bench;
use super::stages::LENS;
use crate::Host;
use crate::continuation::Continuation;
use crate::finding::Kind;
use crate::lens::{LensFinding, LensSpec};
use base::Problem;
use base::matrix::Matrix;
use lab::demand::Work;
use lab::fault::Fault;
use lab::hidden;
use lab::host::NoticeLevel;
use lab::plan::Roles;
use lab::stimuli::Where;
use lab::store::Store;
use probe::logistic::Settings;
use probe::{Labelled, Logistic};
use stats::intervals::wilson;

/// Reads every layer of the spec's lens, if it has one.
pub(crate) fn look(bench: &mut Bench, host: &mut Host<'_>) -> Result<(), Fault> {
    let Some(spec) = bench.spec.lens.clone() else { return Ok(()) };
    let name = bench.model.name().to_owned();
    let notice = |what: String, hint: &str| Problem::new(what, name.clone(), hint);
    if !bench.asks() {
        let what = "the logit lens was not computed: the model has no language model head, or the target does not have \
                    two values with word forms";
        return Ok(host.notice(NoticeLevel::Warning, notice(what.into(), "remove [lens]"))?);
    }
    let depth = bench.model.depth();
    let layers = layers(&spec, depth)?;
    let arch = bench.model.arch();
    // The head of an encoder-decoder belongs to the decoder.
    let (layers, before): (Vec<usize>, Vec<usize>) =
        layers.into_iter().partition(|l| arch.after_block(*l).in_decoder() == arch.after_block(depth).in_decoder());
    if !before.is_empty() {
        let what = format!(
            "the logit lens was not computed at {} encoder layers: the language model head reads only the decoder",
            before.len()
        );
        host.notice(NoticeLevel::Info, notice(what, ""))?;
    }
    let test = bench.one_per_text(&bench.test);
    let end = Continuation::new(&bench.model, &bench.stimuli, &test, (depth, Where::Said), (None, None), host)?;
    let seconds = bench.stages.of(LENS) / layers.len().max(1) as f64;
    for layer in layers {
        host.stage(format!("{name}: logit lens, layer {layer}"), "ex", seconds);
        one(bench, (&test, &end), layer, host)?;
    }
    Ok(())
}

/// The layers of the lens in a model with `depth` blocks.
pub(crate) fn layers(spec: &LensSpec, depth: usize) -> Result<Vec<usize>, Problem> {
    spec.resolve(depth).map_err(|what| {
        let (r#where, hint) = ("lens.layers", "choose other layers, or omit the key for all layers");
        Problem::new(what, r#where, hint)
    })
}

/// Adds the work for texts whose states are missing at one or more layers of the lens. One unit is the pass of one token through the model
/// up to the spec's own layer.
pub(crate) fn count(bench: &Bench, store: &dyn Store, work: &mut Work) {
    let layers = bench.spec.lens.as_ref().and_then(|lens| lens.resolve(bench.model.depth()).ok());
    let rows: Vec<usize> = bench.test.iter().chain(bench.split.oracle().train()).copied().collect();
    for layer in layers.into_iter().flatten().filter(|l| *l != bench.site.layer) {
        let absent = hidden::absent(&bench.model, &bench.stimuli, (layer, Where::Said), &rows, store);
        let tokens = bench.stimuli.tokens(&absent);
        let blocks = layer as f64 / bench.site.layer as f64;
        work.add(&format!("{READ} {} {}", bench.model.hash(), bench.site.layer), tokens as f64 * blocks);
    }
}

fn one(
    bench: &Bench,
    (tested, end): (&[usize], &Continuation),
    layer: usize,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let states = |rows: &[usize], host: &mut Host<'_>| -> Result<Matrix, Fault> {
        hidden::hidden(&bench.model, &bench.stimuli, (layer, Where::Said), rows, host)
    };
    let h = states(tested, host)?;
    let forms = end.run(&bench.model, &h, &[], host)?.forms.unwrap_or_default();
    let right = |(l, r): (&[f32; 2], &usize)| {
        let correct = bench.labels.form[*r];
        l[correct] > l[1 - correct]
    };
    let right = forms.iter().zip(tested).filter(|pair| right(*pair)).count();
    let (labels, classes) = bench.labels.of(Roles::Target);
    let labelled =
        |x: Matrix, rows: &[usize]| Labelled::new(x, rows.iter().map(|r| labels[*r].unwrap_or(0)).collect(), classes);
    let part = bench.oracle_part(Roles::Target)?;
    let train = bench.one_per_text(part.train());
    let train = labelled(states(&train, host)?, &train)?;
    let test = labelled(h, tested)?;
    let fit = Logistic::fit_plain(&train, &Settings::default(), &mut || host.poll())?;
    let read = (fit.model.accuracy(&test) * test.len() as f64).round() as u64;
    let (n, level) = (tested.len() as u64, bench.label.level());
    let body = Kind::Lens(LensFinding {
        layer,
        layers: bench.model.depth(),
        head: wilson(right as u64, n, level),
        oracle: wilson(read, n, level),
        majority: test.majority(),
    });
    Ok(host.find(bench.label.finding(tested.len(), true, host.elapsed(), body))?)
}
