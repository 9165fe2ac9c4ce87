//! The figures of the current view, rebuilt when the board or the view changes.

use super::{Pane, State};
use crate::figure::{Figure, reliability};

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
        let (board, view) = (&self.board, &self.view);
        let methods = [view.method.as_str()];
        let mut curves = reliability::curves(board, &view.model, &methods, view.oracle, Some(self.marker()));
        if let Some(figure) = &mut curves {
            figure.x.scale = self.scale();
        }
        let pareto = reliability::pareto(board, &view.model, view.oracle);
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
