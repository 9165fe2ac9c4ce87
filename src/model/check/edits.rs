//! Checks of overwritten and shifted hidden states, and of forward passes resumed at a layer.

use super::Result;
use super::forward::Case;
use super::report::Table;
use super::tolerance::{HIDDEN, LOGITS, SAME};
use crate::{Array, Edit, EditKind, HookPoint, Plan, Sites};
use base::Pulse;

impl Case<'_> {
    /// Compares edited passes with the file, and resumed passes with the full one.
    pub(super) fn edits(&self, table: &mut Table, pulse: &mut dyn Pulse) -> Result<()> {
        if self.expected.has("intervention.vector") {
            self.edited(table)?;
        } else {
            table.not_checked("edits", "the file has no intervention.vector");
        }
        self.resumed(table, pulse)
    }

    fn edited(&self, table: &mut Table) -> Result<()> {
        let (b, t, d) = (self.batch.rows(), self.batch.len(), self.model.embed_dim());
        let vector = self.expected.shaped("intervention.vector", &[d])?;
        let vector = Array::new([d], vector.data.iter().map(|&v| v as f32).collect());
        let json = self.expected.json().field("intervention");
        let middle = json.field("middle_layer").whole(1, self.layers())?;
        let last = json.field("last_layer").whole(1, self.layers())?;
        let sites: Vec<(usize, usize)> = self.position()?.iter().copied().enumerate().collect();
        for (tag, quantity, layer, how) in [
            ("overwrite_mid", "overwriting in the middle", middle, EditKind::Overwrite),
            ("add_mid", "adding in the middle", middle, EditKind::Add),
            ("overwrite_last", "overwriting after the last block", last, EditKind::Overwrite),
        ] {
            let key = |what: &str| format!("intervention.{tag}.{what}");
            let states = self.expected.shaped(&key("last_hidden_state"), &[b, t, d])?;
            let at = HookPoint::ResidPost(layer - 1);
            let edit = Edit { at, sites: sites.clone(), how, value: vector.clone() };
            let mut plan = Plan::default().edit(edit).capture(self.end());
            if self.model.has_head() {
                plan = plan.logits_at(Sites::At(sites.clone()));
            }
            let trace = self.model.forward(&self.batch, &plan)?;
            let hidden = trace.get(self.end())?;
            let place = ("last hidden state", "hidden_states");
            self.close(quantity, place, &hidden.shape, &hidden.data, &states.data, HIDDEN, table);
            if self.model.has_head() && self.expected.has(&key("logits_at_position")) {
                let want = self.expected.shaped(&key("logits_at_position"), &[b, self.model.arch().vocab])?;
                let logits = trace.logits()?;
                self.close(quantity, ("logits", "logits"), &logits.shape, &logits.data, &want.data, LOGITS, table);
            }
            if self.expected.has(&key("mean_pooled")) {
                let want = self.expected.shaped(&key("mean_pooled"), &[b, d])?;
                table.close(quantity, "pooled", &self.mean_pooled(hidden).data, &want.data, HIDDEN);
            }
        }
        Ok(())
    }

    /// Checks that a pass resumed from the hidden states of layer l has the same result as the full pass.
    fn resumed(&self, table: &mut Table, pulse: &mut dyn Pulse) -> Result<()> {
        let end = self.end();
        for l in 0..=self.layers() {
            pulse.beat(l, self.layers())?;
            let point = if l == 0 { HookPoint::ResidPre(0) } else { HookPoint::ResidPost(l - 1) };
            let ask = |mut plan: Plan| {
                if self.model.has_head() {
                    plan = plan.logits_at(Sites::All);
                }
                // At the last layer of a model without a final norm, nothing remains to be computed.
                if l < self.layers() || end == HookPoint::FinalNorm { plan.capture(end) } else { plan }
            };
            let full = self.model.forward(&self.batch, &ask(Plan::default().capture(point)))?;
            let state = full.get(point)?.clone();
            let resumed = self.model.forward(&self.batch, &ask(Plan::default().resume(l, state)))?;
            let states = full.captures[1..].iter().zip(&resumed.captures).map(|((_, a), (_, b))| (a, b));
            for (a, b) in states.chain(full.logits.iter().zip(&resumed.logits)) {
                let want: Vec<f64> = a.data.iter().map(|&v| f64::from(v)).collect();
                table.close("resuming at a layer against the full pass", &format!("layer {l}"), &b.data, &want, SAME);
            }
        }
        Ok(())
    }
}
