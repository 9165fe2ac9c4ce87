//! Converts little-endian numbers in weight files to f32. The code is in this crate so that test builds read weights at full speed.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// Decodes f32 values; up to three trailing bytes are ignored.
pub fn from_f32(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&c| f32::from_le_bytes(c)).collect()
}

/// Decodes f16 values; an odd last byte is ignored.
pub fn from_f16(bytes: &[u8]) -> Vec<f32> {
    let halves: Vec<f16> = bytes.as_chunks().0.iter().map(|&c| f16::from_le_bytes(c)).collect();
    halves.to_f32_vec()
}

/// Decodes bf16 values; an odd last byte is ignored.
pub fn from_bf16(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&c| bf16::from_le_bytes(c).to_f32()).collect()
}

/// Index of the first infinite or NaN value.
pub fn first_not_finite(values: &[f32]) -> Option<usize> {
    values.iter().position(|v| !v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_value_is_decoded_exactly() {
        let words: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let halves = from_f16(&words);
        let wide = from_bf16(&words);
        for bits in 0..=u16::MAX {
            let i = usize::from(bits);
            let (half, brain) = (f16::from_bits(bits).to_f32(), f32::from_bits(u32::from(bits) << 16));
            assert!(halves[i].to_bits() == half.to_bits() || half.is_nan() && halves[i].is_nan(), "{bits:#x}");
            assert!(wide[i].to_bits() == brain.to_bits() || brain.is_nan() && wide[i].is_nan(), "{bits:#x}");
        }
        assert_eq!(from_f32(&1.5f32.to_le_bytes()), [1.5]);
        assert_eq!(first_not_finite(&[0.0, f32::NAN]), Some(1));
    }
}
