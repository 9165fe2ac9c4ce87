//! Devices that run models.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use super::dtype::Dtype;
use super::error::ModelError;
use super::exec;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Device {
    /// The first working GPU supported by this build, otherwise the CPU.
    #[default]
    Auto,
    Cpu,
    /// The CPU through candle: slow, used as a reference in tests of the CPU executor.
    CandleCpu,
    /// An NVIDIA GPU by number (`--features cuda`).
    Cuda(usize),
    /// An Apple GPU (`--features metal`).
    Metal,
}

impl Device {
    /// Resolves [`Device::Auto`] for this build and machine; returns other devices unchanged.
    pub fn resolve(self) -> Device {
        // A build with GPU support may run on a machine without a GPU, such as a cluster's login node.
        static FIRST: OnceLock<Device> = OnceLock::new();
        let works = |d: &Device| exec::candle::open_device(*d).is_ok();
        match self {
            Device::Auto => {
                *FIRST.get_or_init(|| [Device::Cuda(0), Device::Metal].into_iter().find(works).unwrap_or(Device::Cpu))
            }
            other => other,
        }
    }

    /// Device label for results, with the dtype unless it is f32.
    pub fn with(self, dtype: Dtype) -> String {
        match dtype {
            Dtype::F32 => self.to_string(),
            other => format!("{self} {other}"),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Auto => write!(f, "auto"),
            Device::Cpu => write!(f, "cpu"),
            Device::CandleCpu => write!(f, "candle-cpu"),
            Device::Cuda(n) => write!(f, "cuda:{n}"),
            Device::Metal => write!(f, "metal"),
        }
    }
}

impl FromStr for Device {
    type Err = ModelError;

    fn from_str(s: &str) -> Result<Device, ModelError> {
        match s {
            "auto" => Ok(Device::Auto),
            "cpu" => Ok(Device::Cpu),
            "candle-cpu" => Ok(Device::CandleCpu),
            "cuda" => Ok(Device::Cuda(0)),
            "metal" => Ok(Device::Metal),
            _ => s.strip_prefix("cuda:").and_then(|n| n.parse().ok()).map(Device::Cuda).ok_or_else(|| {
                let device = s.chars().take(40).collect::<String>().escape_debug().to_string();
                ModelError::Device { device, what: "unknown; use auto, cpu, cuda, cuda:N or metal".into() }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for d in [Device::Auto, Device::Cpu, Device::CandleCpu, Device::Cuda(0), Device::Cuda(3), Device::Metal] {
            assert_eq!(d.to_string().parse::<Device>().unwrap(), d);
        }
        assert_eq!("cuda".parse::<Device>().unwrap(), Device::Cuda(0));
        assert_eq!([Dtype::F32, Dtype::Bf16].map(|d| Device::Cpu.with(d)), ["cpu", "cpu bf16"]);
        for bad in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "\u{1b}[31m"] {
            let said = bad.parse::<Device>().unwrap_err().to_string();
            assert!(!said.contains('\u{1b}'));
        }
    }
}
