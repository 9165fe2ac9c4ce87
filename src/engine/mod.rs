//! The background engine: commands in, events out.
