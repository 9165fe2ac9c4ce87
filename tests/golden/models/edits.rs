//! Passes with hidden states overwritten or added to, and passes resumed at a layer.

use super::*;

impl Case {
    pub(super) fn interventions(&self, report: &mut Report) {
        let vector = Array::new([self.model.embed_dim()], self.want.get("intervention.vector").f32());
        let middle = self.info["intervention"]["middle_layer"].as_u64().unwrap() as usize;
        let last = self.info["intervention"]["last_layer"].as_u64().unwrap() as usize;
        let end = self.hidden_point(self.layers());
        for (tag, layer, how) in [
            ("overwrite_mid", middle, EditKind::Overwrite),
            ("add_mid", middle, EditKind::Add),
            ("overwrite_last", last, EditKind::Overwrite),
        ] {
            let sites: Vec<(usize, usize)> = self.positions.iter().copied().enumerate().collect();
            let edit = Edit { at: HookPoint::ResidPost(layer - 1), sites: sites.clone(), how, value: vector.clone() };
            let mut plan = Plan::default().edit(edit).capture(end);
            if self.model.has_head() {
                plan = plan.logits_at(Sites::At(sites));
            }
            let trace = self.model.forward(&self.batch, &plan).unwrap();
            let hidden = trace.get(end).unwrap();
            let want = self.want.get(&format!("intervention.{tag}.last_hidden_state"));
            report.close(&format!("{tag}: last hidden state"), &hidden.data, &want.data, HIDDEN);
            if let Some(want) = self.want.find(&format!("intervention.{tag}.logits_at_position")) {
                report.close(&format!("{tag}: logits"), &trace.logits().unwrap().data, &want.data, LOGITS);
            }
            if let Some(want) = self.want.find(&format!("intervention.{tag}.mean_pooled")) {
                report.close(&format!("{tag}: pooled"), &self.mean_pooled(hidden).data, &want.data, HIDDEN);
            }
        }
    }

    /// A pass resumed from the hidden states of layer l must end where the full pass does.
    pub(super) fn resuming(&self, report: &mut Report) {
        let end = self.hidden_point(self.layers());
        let mut worst = 0f32;
        for l in 0..=self.layers() {
            let point = if l == 0 { HookPoint::ResidPre(0) } else { HookPoint::ResidPost(l - 1) };
            let head = |plan: Plan| if self.model.has_head() { plan.logits_at(Sites::All) } else { plan };
            let ask_end = |plan: Plan| {
                if l < self.layers() || end == HookPoint::FinalNorm { plan.capture(end) } else { plan }
            };
            let full = self.model.forward(&self.batch, &ask_end(head(Plan::default().capture(point)))).unwrap();
            let state = full.get(point).unwrap().clone();
            let resumed = self.model.forward(&self.batch, &ask_end(head(Plan::default().resume(l, state)))).unwrap();
            let pairs = full.captures[1..].iter().zip(&resumed.captures).map(|((_, a), (_, b))| (a, b));
            for (a, b) in pairs.chain(full.logits.iter().zip(&resumed.logits)) {
                worst = a.data.iter().zip(&b.data).fold(worst, |m, (x, y)| m.max((x - y).abs()));
            }
        }
        report.close("resuming at every layer against the full pass", &[worst], &[0.0], 1e-6);
    }
}
