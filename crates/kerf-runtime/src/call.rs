//! How a call of the application's is run, and gives its results back.
use crate::error::{self, CallFailure, code};
use crate::managed;
use crate::process::say;
use crate::state::{State, with_state};

/// Runs a call of the application's with the state; gives its code.
pub fn call(name: &str, f: impl FnOnce(&mut State) -> Result<(), CallFailure>) -> i32 {
    let sticky = error::sticky();
    if sticky != 0 {
        return error::note(sticky);
    }
    let result = with_state(|s| f(s).and_then(|()| managed::to_host(s, name)));
    error::note(match result {
        Ok(()) => code::SUCCESS,
        Err(e) => {
            if let Some(m) = &e.message {
                say(&format!("{name}: {m}"));
            }
            if e.sticky {
                error::set_sticky(e.code);
            }
            e.code
        }
    })
}

/// Writes a value through a pointer that the application gave.
pub fn put<T>(to: *mut T, value: T) -> Result<(), CallFailure> {
    if to.is_null() {
        return Err(code::INVALID_VALUE.into());
    }
    // SAFETY: the application says that it points to a T.
    unsafe { to.write(value) };
    Ok(())
}
