//! Math libraries as shared objects: their C functions of one argument, called in each rounding mode.
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::libm::RoundingMode;
use libloading::Library;
use std::path::Path;

/// What is wrong with a library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// It is not there, or not a shared object for this machine.
    #[error("{library} cannot be loaded: {reason}")]
    Load {
        /// The library.
        library: String,
        /// What the dynamic linker says.
        reason: String,
    },
    /// The pattern of its symbols does not say where the name is.
    #[error("the symbol pattern {pattern:?} of {library} has no % for the name of the function")]
    Pattern {
        /// The library.
        library: String,
        /// The pattern.
        pattern: String,
    },
    /// It does not have a function.
    #[error("{library} has no function {symbol}")]
    Symbol {
        /// The library.
        library: String,
        /// The symbol.
        symbol: String,
    },
    /// The machine's C library refuses a rounding mode.
    #[error("the rounding mode {0} cannot be set on this machine")]
    Mode(&'static str),
}

/// A shared object with the functions of C's math.h.
pub struct MathLibrary {
    /// Its path, or the name by which the dynamic linker finds it.
    pub name: String,
    /// Its symbols, with % for the function's name in C.
    pattern: String,
    handle: Library,
}

/// Functions of one argument, and of two.
type Unary = unsafe extern "C" fn(f64) -> f64;
type Binary = unsafe extern "C" fn(f64, f64) -> f64;

unsafe extern "C" {
    fn fegetround() -> i32;
    fn fesetround(mode: i32) -> i32;
}

/// A mode's number in fenv.h.
fn fenv_number(mode: RoundingMode) -> i32 {
    let x86 = match mode {
        RoundingMode::Nearest => 0,
        RoundingMode::Downward => 0x400,
        RoundingMode::Upward => 0x800,
        RoundingMode::TowardZero => 0xc00,
    };
    let arm = match mode {
        RoundingMode::Nearest => 0,
        RoundingMode::Upward => 0x40_0000,
        RoundingMode::Downward => 0x80_0000,
        RoundingMode::TowardZero => 0xc0_0000,
    };
    if cfg!(target_arch = "aarch64") {
        arm
    } else {
        x86
    }
}

/// A rounding mode for as long as it lives.
struct RoundingGuard(i32);

impl RoundingGuard {
    fn set(mode: RoundingMode) -> Result<RoundingGuard, LibraryError> {
        // SAFETY: these functions only read and write the floating-point environment of this thread.
        let (before, status) = unsafe { (fegetround(), fesetround(fenv_number(mode))) };
        match status {
            0 => Ok(RoundingGuard(before)),
            _ => Err(LibraryError::Mode(mode.name())),
        }
    }
}

impl Drop for RoundingGuard {
    fn drop(&mut self) {
        // SAFETY: as above; the mode is one that was set before.
        unsafe { fesetround(self.0) };
    }
}

impl MathLibrary {
    /// Loads `PATH` or `PATH:PATTERN`, such as `libm.so.6` or `./libcore.so:cr_%`. Its initialisers run in this process.
    pub fn open(text: &str) -> Result<MathLibrary, LibraryError> {
        let (path, pattern) = match text.rsplit_once(':') {
            Some((path, pattern)) if !path.is_empty() && !Path::new(text).exists() => {
                (path, pattern)
            }
            _ => (text, "%"),
        };
        if !pattern.contains('%') {
            return Err(LibraryError::Pattern {
                library: path.into(),
                pattern: pattern.into(),
            });
        }
        // SAFETY: loading runs the initialisers of a library that the user named for being run.
        let handle = unsafe { Library::new(path) }.map_err(|e| LibraryError::Load {
            library: path.into(),
            reason: e.to_string(),
        })?;
        Ok(MathLibrary {
            name: path.into(),
            pattern: pattern.into(),
            handle,
        })
    }

    /// The symbol of a function; none for roots, whose second argument is an integer.
    fn symbol(&self, f: ElementaryFunction) -> Option<String> {
        let name = match f {
            ElementaryFunction::Power(_) => "pow".into(),
            ElementaryFunction::Rootn(_) => return None,
            f => f.name(),
        };
        Some(self.pattern.replace('%', &name))
    }

    /// Whether it has a function; an error that names the symbol otherwise.
    pub fn require(&self, f: ElementaryFunction) -> Result<(), LibraryError> {
        let symbol = self.symbol(f);
        let found = |symbol: &String| {
            // SAFETY: the symbol is looked up and not called.
            unsafe { self.handle.get::<Unary>(symbol.as_bytes()).is_ok() }
        };
        match symbol.as_ref().is_some_and(found) {
            true => Ok(()),
            false => Err(LibraryError::Symbol {
                library: self.name.clone(),
                symbol: symbol.unwrap_or_else(|| f.name()),
            }),
        }
    }

    /// The function's results in a rounding mode.
    pub fn apply(
        &self,
        f: ElementaryFunction,
        mode: RoundingMode,
        x: &[f64],
    ) -> Result<Vec<f64>, LibraryError> {
        self.require(f)?;
        let symbol = self.symbol(f).unwrap_or_default();
        let mut results = vec![0.0; x.len()];
        let guard = RoundingGuard::set(mode)?;
        // SAFETY: a symbol with the name of a function of math.h has its type. Nothing but calls of it and moves of numbers
        // happens while another rounding mode is set.
        unsafe {
            match f {
                ElementaryFunction::Power(n) => {
                    let n = f64::from(n);
                    if let Ok(function) = self.handle.get::<Binary>(symbol.as_bytes()) {
                        for (y, x) in results.iter_mut().zip(x) {
                            *y = function(*x, n);
                        }
                    }
                }
                _ => {
                    if let Ok(function) = self.handle.get::<Unary>(symbol.as_bytes()) {
                        for (y, x) in results.iter_mut().zip(x) {
                            *y = function(*x);
                        }
                    }
                }
            }
        }
        drop(guard);
        Ok(results)
    }
}
