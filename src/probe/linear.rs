//! The linear oracle: one layer with softmax, trained like the perceptrons.
//!
//! The learning rates are those of Canby et al. Their text keeps the rate with the "lowest" validation accuracy, surely a slip for
//! "highest", which this search uses. For a regularised optimum instead of a fixed number of Adam steps, see [`super::logistic`].

use super::grid::Grid;
use super::train::Recipe;

pub(crate) const LEARNING_RATES: [f64; 4] = [1e-4, 1e-3, 1e-2, 1e-1];

pub fn grid() -> Grid {
    let recipe = |learning_rate| Recipe { hidden: Vec::new(), learning_rate, batch: 64 };
    Grid { name: "linear".to_owned(), recipes: LEARNING_RATES.map(recipe).to_vec() }
}
