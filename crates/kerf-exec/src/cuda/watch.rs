//! Energy, clocks and throttling, by NVML.
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use serde::{Deserialize, Serialize};

/// A reading of the board's sensors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reading {
    /// Energy counter in joules (NVML updates it about every 100 ms).
    pub energy_j: Option<f64>,
    /// SM clock in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Memory clock in MHz.
    pub memory_clock_mhz: Option<u32>,
    /// GPU temperature in degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Reasons for which the clock is held back, other than idleness.
    pub throttle: Vec<String>,
}

/// The sensors of one board.
pub struct Watch {
    nvml: Nvml,
    index: u32,
}

impl Watch {
    /// Opens NVML; the error says why it cannot be had.
    pub fn new(index: u32) -> Result<Watch, NvmlError> {
        let nvml = Nvml::init().or_else(|_| {
            Nvml::builder()
                .lib_path(std::ffi::OsStr::new("libnvidia-ml.so.1"))
                .init()
        })?;
        nvml.device_by_index(index)?;
        Ok(Watch { nvml, index })
    }
    /// NVML's own version of the driver.
    pub fn driver(&self) -> String {
        self.nvml
            .sys_driver_version()
            .unwrap_or_else(|_| "unknown".into())
    }
    /// The energy counter in joules.
    pub fn energy(&self) -> Option<f64> {
        let d = self.nvml.device_by_index(self.index).ok()?;
        Some(d.total_energy_consumption().ok()? as f64 * 1e-3)
    }
    /// Watts that the board may draw.
    pub fn power_limit(&self) -> Option<f64> {
        let d = self.nvml.device_by_index(self.index).ok()?;
        Some(f64::from(d.enforced_power_limit().ok()?) * 1e-3)
    }
    /// Reads everything; what a board does not offer is absent.
    pub fn read(&self) -> Reading {
        let Ok(d) = self.nvml.device_by_index(self.index) else {
            return Reading {
                energy_j: None,
                sm_clock_mhz: None,
                memory_clock_mhz: None,
                temperature_c: None,
                throttle: Vec::new(),
            };
        };
        use nvml_wrapper::bitmasks::device::ThrottleReasons as T;
        let quiet = T::GPU_IDLE | T::APPLICATIONS_CLOCKS_SETTING;
        let throttle = d
            .current_throttle_reasons()
            .map(|r| {
                (r - quiet)
                    .iter_names()
                    .map(|(n, _)| n.to_lowercase())
                    .collect()
            })
            .unwrap_or_default();
        Reading {
            energy_j: d.total_energy_consumption().ok().map(|mj| mj as f64 * 1e-3),
            sm_clock_mhz: d.clock_info(Clock::SM).ok(),
            memory_clock_mhz: d.clock_info(Clock::Memory).ok(),
            temperature_c: d.temperature(TemperatureSensor::Gpu).ok(),
            throttle,
        }
    }
}
