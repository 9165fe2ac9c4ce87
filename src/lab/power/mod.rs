//! How much data a comparison of two probes needs (Zhu et al. 2022, "On the data requirements of probing"; Card et al. 2020,
//! "With little power comes great responsibility").

pub mod bound;
