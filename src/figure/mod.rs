//! Figures without a renderer, and their renderers.
