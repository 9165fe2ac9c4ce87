//! Classifiers on embeddings.
