//! The distance meter of a bench: compares real states of the intervention part with the first test examples.

use std::sync::Arc;

use super::points::Named;
use super::prepare::Bench;
use crate::Host;
use crate::InterventionError;
use crate::distance::{DistanceFinding, Distances, Held, Meter, Unchanged};
use crate::finding::Kind;
use lab::fault::Fault;

/// A distance meter, and its values on the first chunk of unedited test examples.
pub(crate) struct DistanceMeter {
    pub meter: Meter,
    unchanged: Unchanged,
}

impl Bench {
    /// The meter, created on first use.
    pub(crate) fn distance_meter(&mut self, host: &mut Host<'_>) -> Result<Arc<DistanceMeter>, Fault> {
        if let Some(distance_meter) = &self.distance_meter {
            return Ok(distance_meter.clone());
        }
        if self.chunks[0].twins.is_none() && self.has_twins(host)? {
            let twins = self.twin_states(0..self.chunks[0].len(), host)?;
            Arc::make_mut(&mut self.chunks[0]).twins = Some(twins);
        }
        let data = self.material(host)?;
        let meter = Meter::new(data.train().x()).map_err(InterventionError::from)?;
        let chunk = &self.chunks[0];
        let unchanged = Unchanged::of(&meter.measure(&chunk.h, &chunk.h, chunk.twins.as_ref()));
        let distance_meter = Arc::new(DistanceMeter { meter, unchanged });
        self.distance_meter = Some(distance_meter.clone());
        Ok(distance_meter)
    }

    /// The finding on the distances at one strength, with its n; `None` if nothing was measured.
    pub(crate) fn distance(&self, named: &Named, value: f64, d: &Distances) -> Option<(Kind, usize)> {
        let distance_meter = self.distance_meter.clone().filter(|_| !d.is_empty())?;
        let held = Held {
            level: self.label.level(),
            texts: self.texts_of(d.len()),
            before: distance_meter.unchanged,
            real_states: distance_meter.meter.count(),
        };
        let place = (self.site.layer, named.method.parameter.name, value);
        Some((Kind::Distance(DistanceFinding::of(&named.key, place, d, &held)), d.len()))
    }
}
