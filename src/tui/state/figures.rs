//! The figures of the current view, rebuilt when the board or the view changes.

use super::{Pane, State};
use crate::figure::Figure;
use crate::lab::interventions::figures;

/// What the panes draw and `export` writes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// C, S and R against the strength; none before the first point.
    pub curves: Option<Figure>,
    /// C against S for all methods; none before the first point.
    pub pareto: Option<Figure>,
}

impl State {
    /// Builds the figures anew from the board and the view.
    pub(in crate::tui) fn rebuild_figures(&mut self) {
        let (results, engine, view) = (self.results(), self.board.engine.as_ref(), &self.view);
        let methods = self.curve().map_or(Vec::new(), |c| vec![c.key.method.clone()]);
        let marker = Some(self.marker());
        let mut curves = figures::curves(results, engine, &view.model, &methods, view.oracle, marker);
        if let Some(figure) = &mut curves {
            figure.x.scale = self.scale();
        }
        let pareto = figures::pareto(results, engine, &view.model, view.oracle);
        self.figures = Figures { curves, pareto };
    }

    /// The figure of the focused pane; panes without one stand for the curves.
    pub fn focused_figure(&self) -> Option<&Figure> {
        match self.view.focus {
            Pane::Pareto => self.figures.pareto.as_ref(),
            _ => self.figures.curves.as_ref(),
        }
    }
}
