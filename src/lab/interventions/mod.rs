//! Interventions on hidden states and how far they can be trusted (Canby et al.).
