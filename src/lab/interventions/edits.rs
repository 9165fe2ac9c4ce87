//! The states that an intervention edits, unless there is exactly one per row.

use std::ops::Range;

use base::Pulse;
use base::matrix::Matrix;
use lab::spot::Spot;
use lab::stimuli::{Stimuli, StimuliError, Where};
use model::{Model, Plan, Sites};

/// All tokens of the texts, or one state per text that oracles read at several tokens.
#[derive(Debug, Clone)]
pub(crate) struct Edits {
    /// The hidden states.
    pub h: Matrix,
    /// For each state, the index of its text and the tokens that it replaces.
    spots: Vec<(usize, Range<usize>)>,
    /// For each state, the index of a row of its text.
    places: Vec<usize>,
    /// For each state, that row among the stimuli.
    pub rows: Vec<usize>,
    /// For each state, the value of the other property.
    pub other: Vec<Option<usize>>,
    /// For each row, the index of its state.
    own: Vec<usize>,
}

impl Edits {
    /// Repeats a value per row for each state.
    pub(crate) fn spread<T: Copy>(&self, each: &[T]) -> Vec<T> {
        self.places.iter().map(|place| each[*place]).collect()
    }

    /// Selects the state of each row from edited states.
    pub(crate) fn own(&self, edited: &Matrix) -> Matrix {
        edited.select_rows(&self.own)
    }

    /// The index of each state, the index of its text, and the tokens that it replaces.
    pub(crate) fn spots(&self) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
        self.spots.iter().enumerate().map(|(i, (text, tokens))| (i, *text, tokens.clone()))
    }

    /// The edited states for the stimuli `rows`; `h` are the states of the rows themselves. If every token is edited, the other tokens of
    /// the texts are read too. `None` if one state for each row is edited.
    pub(crate) fn read(
        model: &Model,
        stimuli: &Stimuli,
        rows: &[usize],
        (h, layer): (&Matrix, usize),
        other: &[Option<usize>],
        pulse: &mut dyn Pulse,
    ) -> Result<Option<Self>, StimuliError> {
        let texts = stimuli.texts(rows);
        let each = rows.first().is_some_and(|r| matches!(stimuli.list[*r].changed, Spot::Each { .. }));
        if !each && texts.len() == rows.len() {
            return Ok(None);
        }
        let mut text_of = vec![0; rows.len()];
        texts.iter().enumerate().for_each(|(text, places)| places.iter().for_each(|place| text_of[*place] = text));
        let of = |h: Matrix, spots: Vec<(usize, Range<usize>)>, places: Vec<usize>, own: Vec<usize>| {
            let rows: Vec<usize> = places.iter().map(|place| rows[*place]).collect();
            let other = rows.iter().map(|r| other[*r]).collect();
            Some(Self { h, spots, places, rows, other, own })
        };
        if !each {
            let firsts: Vec<usize> = texts.iter().map(|places| places[0]).collect();
            let spot = |place: &usize| stimuli.list[rows[*place]].spot(Where::Changed).averaged();
            let spots = firsts.iter().map(spot).enumerate().collect();
            return Ok(of(h.select_rows(&firsts), spots, firsts, text_of));
        }
        let token = |place: usize| stimuli.list[rows[place]].changed.averaged();
        let mut spots: Vec<(usize, Range<usize>)> =
            (0..rows.len()).map(|place| (text_of[place], token(place))).collect();
        let mut places: Vec<usize> = (0..rows.len()).collect();
        let mut states: Vec<f32> = h.data().to_vec();
        let at = model.arch().after_block(layer);
        let firsts: Vec<usize> = texts.iter().map(|places| rows[places[0]]).collect();
        for group in stimuli.batches(&firsts) {
            let others = |(k, text): (usize, &usize)| {
                let Spot::Each { all, .. } = &stimuli.list[firsts[*text]].changed else { return Vec::new() };
                let known: Vec<usize> = texts[*text].iter().map(|place| token(*place).start).collect();
                all.clone().filter(|t| !known.contains(t)).map(|t| (k, t)).collect()
            };
            let sites: Vec<(usize, usize)> = group.iter().enumerate().flat_map(others).collect();
            // All tokens of these texts may be rows.
            if sites.is_empty() {
                continue;
            }
            let batch = stimuli.batch(model, &firsts, &group)?;
            let trace = model.forward(&batch, &Plan::default().capture_at(at, Sites::At(sites.clone())))?;
            let captured = trace.get(at)?;
            for (i, (k, t)) in sites.iter().enumerate() {
                let text = group[*k];
                spots.push((text, *t..t + 1));
                places.push(texts[text][0]);
                states.extend_from_slice(captured.row(i));
            }
            pulse.beat(spots.len(), spots.len())?;
        }
        let width = h.cols();
        let h = Matrix::from_fn(spots.len(), width, |i, j| states[i * width + j]);
        Ok(of(h, spots, places, (0..rows.len()).collect()))
    }
}
