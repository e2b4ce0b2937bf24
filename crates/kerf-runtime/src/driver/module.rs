//! Modules of the driver API: each is a unit, as a file of an application is, with functions and variables by name.
use super::image::{ImageCode, bytes_at, prepared, translate};
use crate::call::put;
use crate::error::{CallFailure, code};
use crate::registered::{RegisteredFunction, RegisteredUnit, RegisteredVariable};
use crate::replay::hooks;
use crate::state::State;
use crate::variable;
use kerf_exec::DeviceKind;
use std::ffi::{CStr, c_char, c_void};

/// Options of the driver's compiler that are answered (`CUjit_option`).
const INFO_LOG: (i32, i32) = (3, 4);
const ERROR_LOG: (i32, i32) = (5, 6);

/// Options of a compilation or a link, as the application gives them.
pub struct JitOptions {
    count: u32,
    names: *const i32,
    values: *mut *mut c_void,
}

impl JitOptions {
    /// None.
    pub const NONE: JitOptions = JitOptions {
        count: 0,
        names: std::ptr::null(),
        values: std::ptr::null_mut(),
    };

    /// As many as `count` says.
    pub fn new(count: u32, names: *const i32, values: *mut *mut c_void) -> JitOptions {
        JitOptions {
            count,
            names,
            values,
        }
    }

    fn value(&self, name: i32) -> Option<*mut *mut c_void> {
        if self.names.is_null() || self.values.is_null() {
            return None;
        }
        // SAFETY: the application says that both arrays have so many elements.
        let found = (0..self.count as usize).find(|i| unsafe { *self.names.add(*i) } == name)?;
        // SAFETY: as above.
        Some(unsafe { self.values.add(found) })
    }

    /// Writes a log into the application's buffer, and its length where that of the buffer was.
    fn write_log(&self, (buffer, bytes): (i32, i32), text: &str) {
        let (Some(buffer), Some(bytes)) = (self.value(buffer), self.value(bytes)) else {
            return;
        };
        // SAFETY: the value of the first is the buffer, of the second its size.
        unsafe {
            let (to, room) = ((*buffer).cast::<u8>(), *bytes as usize);
            if to.is_null() || room == 0 {
                return;
            }
            let n = text.len().min(room - 1);
            std::ptr::copy_nonoverlapping(text.as_ptr(), to, n);
            *to.add(n) = 0;
            *bytes = (n + 1) as *mut c_void;
        }
    }

    /// Tells the application how a compilation ended.
    pub fn tell<R>(&self, result: &Result<R, CallFailure>) {
        let why = result.as_ref().err().and_then(|e| e.message.as_deref());
        self.write_log(INFO_LOG, "");
        self.write_log(ERROR_LOG, why.unwrap_or_default());
    }
}

/// Registers code as a unit, and compiles it.
fn register(s: &mut State, code: ImageCode) -> Result<u64, CallFailure> {
    s.units.push(RegisteredUnit {
        meta: vec![code.meta],
        bitcode: vec![code.bitcode.into()],
        kept: &[],
        loaded: None,
    });
    let unit = s.units.len() - 1;
    s.unit(unit)?;
    let handle = s.driver.handle();
    s.driver.modules.insert(handle, unit);
    Ok(handle)
}

/// Loads a module.
pub fn load(s: &mut State, image: &[u8], options: &JitOptions) -> Result<u64, CallFailure> {
    s.driver.loaded += 1;
    let name = format!("module-{}.ptx", s.driver.loaded);
    let loaded = translate(s, image, &name)
        .and_then(|code| Ok(prepared(code)?))
        .and_then(|code| register(s, code));
    options.tell(&loaded);
    loaded
}

/// Loads a module from memory.
pub fn load_at(
    s: &mut State,
    image: *const c_void,
    options: &JitOptions,
) -> Result<u64, CallFailure> {
    // SAFETY: what the application gives is an image.
    let bytes = unsafe { bytes_at(image.cast()) };
    let bytes = bytes.map_err(CallFailure::from);
    if bytes.is_err() {
        options.tell(&bytes);
    }
    load(s, &bytes?, options)
}

/// SAFETY: a C string or null.
unsafe fn text(p: *const c_char) -> Result<String, CallFailure> {
    if p.is_null() {
        return Err(code::INVALID_VALUE.into());
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned())
}

/// Loads a module from a file.
pub fn load_file(
    s: &mut State,
    path: *const c_char,
    options: &JitOptions,
) -> Result<u64, CallFailure> {
    // SAFETY: the application's own text.
    let path = unsafe { text(path)? };
    let missing = |e| CallFailure::new(code::FILE_NOT_FOUND, format!("{path}: {e}"));
    let bytes = std::fs::read(&path).map_err(missing)?;
    load(s, &bytes, options)
}

/// The unit of a module.
pub fn unit_of(s: &State, module: u64) -> Result<usize, CallFailure> {
    let unit = s.driver.modules.get(&module).copied();
    unit.ok_or(CallFailure::from(code::INVALID_HANDLE))
}

/// Symbols of the kernels of a module, in order.
pub fn kernel_names(s: &mut State, module: u64) -> Result<Vec<String>, CallFailure> {
    let unit = unit_of(s, module)?;
    let kernels = &s.unit(unit)?.kernels;
    Ok(kernels.iter().map(|k| k.symbol.clone()).collect())
}

/// A function by its symbol; the same handle each time. One that the CPU cannot run is refused here, by what it needs.
pub fn function(s: &mut State, module: u64, symbol: &str) -> Result<u64, CallFailure> {
    let unit = unit_of(s, module)?;
    let loaded = s.unit(unit)?;
    if !loaded.kernels.iter().any(|k| k.symbol == symbol) {
        return Err(code::NOT_FOUND.into());
    }
    let refused = loaded.refused.get(symbol).cloned();
    if let (Some(why), DeviceKind::Cpu) = (refused, s.device()?.kind()) {
        let why = format!("{symbol} cannot run on the CPU: {why}");
        return Err(CallFailure::new(code::NOT_SUPPORTED, why));
    }
    let known = s.functions.iter();
    let mut known = known.filter(|(_, f)| f.module == unit && f.symbol == symbol);
    if let Some((handle, _)) = known.next() {
        return Ok(*handle as u64);
    }
    let handle = s.driver.handle();
    s.functions.insert(
        handle as usize,
        RegisteredFunction {
            module: unit,
            symbol: symbol.to_owned(),
            shared_limit: 48 * 1024,
            ready: None,
        },
    );
    Ok(handle)
}

/// Address and bytes of a variable.
fn global(s: &mut State, module: u64, symbol: &str) -> Result<(u64, usize), CallFailure> {
    let unit = unit_of(s, module)?;
    let key = (unit, symbol.to_owned());
    if let Some(handle) = s.driver.variables.get(&key).copied() {
        return variable::find(s, handle as *const c_void);
    }
    let program = s.unit(unit)?.program;
    let found = s.device()?.variable(program, symbol);
    let (address, bytes) = found.map_err(|_| CallFailure::from(code::NOT_FOUND))?;
    hooks::refuse(
        s,
        "cuModuleGetGlobal: variables have other addresses in a replay",
    );
    let handle = s.driver.handle();
    s.driver.variables.insert(key, handle);
    s.variables.insert(
        handle as usize,
        RegisteredVariable {
            module: unit,
            symbol: symbol.to_owned(),
            bytes,
            address: Some(address),
        },
    );
    Ok((address, bytes))
}

/// Writes address and size of a variable where the application wants either.
pub fn put_global(
    s: &mut State,
    module: u64,
    name: *const c_char,
    to: *mut u64,
    size: *mut usize,
) -> Result<(), CallFailure> {
    // SAFETY: the application's own text.
    let symbol = unsafe { text(name)? };
    let (address, bytes) = global(s, module, &symbol)?;
    if !to.is_null() {
        put(to, address)?;
    }
    match size.is_null() {
        true => Ok(()),
        false => put(size, bytes),
    }
}

/// Writes the handle of a function by its name.
pub fn put_function(
    s: &mut State,
    module: u64,
    name: *const c_char,
    to: *mut u64,
) -> Result<(), CallFailure> {
    // SAFETY: the application's own text.
    let symbol = unsafe { text(name)? };
    let handle = function(s, module, &symbol)?;
    put(to, handle)
}

/// Writes handles of up to `count` functions.
pub fn put_functions(
    s: &mut State,
    module: u64,
    to: *mut u64,
    count: u32,
) -> Result<(), CallFailure> {
    let names = kernel_names(s, module)?;
    for (i, name) in names.iter().take(count as usize).enumerate() {
        let handle = function(s, module, name)?;
        // SAFETY: the application says that there is room for so many.
        put(unsafe { to.add(i) }, handle)?;
    }
    Ok(())
}

/// Forgets a module. A record keeps its code.
pub fn unload(s: &mut State, module: u64) -> Result<(), CallFailure> {
    let unit = unit_of(s, module)?;
    s.on_device(|d| d.synchronize())?;
    s.driver.modules.remove(&module);
    if s.recorder.is_none() && s.trace.is_none() {
        s.functions.retain(|_, f| f.module != unit);
        s.variables.retain(|_, v| v.module != unit);
        s.units[unit].bitcode = vec![Vec::new().into()];
        s.units[unit].loaded = Some(Err(code::INVALID_HANDLE.into()));
    }
    Ok(())
}

driver_calls! {
    kerf_cuModuleLoad as "cuModuleLoad" (to: *mut u64, path: *const c_char) |s| {
        let m = load_file(s, path, &JitOptions::NONE)?;
        put(to, m)
    };
    kerf_cuModuleLoadData as "cuModuleLoadData" (to: *mut u64, image: *const c_void) |s| {
        let m = load_at(s, image, &JitOptions::NONE)?;
        put(to, m)
    };
    kerf_cuModuleLoadDataEx as "cuModuleLoadDataEx"
        (to: *mut u64, image: *const c_void, n: u32, options: *const i32, values: *mut *mut c_void) |s| {
        let m = load_at(s, image, &JitOptions::new(n, options, values))?;
        put(to, m)
    };
    kerf_cuModuleLoadFatBinary as "cuModuleLoadFatBinary" (to: *mut u64, image: *const c_void) |s| {
        let m = load_at(s, image, &JitOptions::NONE)?;
        put(to, m)
    };
    kerf_cuModuleUnload as "cuModuleUnload" (module: u64) |s| unload(s, module);
    kerf_cuModuleGetLoadingMode as "cuModuleGetLoadingMode" (to: *mut i32) |_s| put(to, 1);
    kerf_cuModuleGetFunction as "cuModuleGetFunction" (to: *mut u64, module: u64, name: *const c_char) |s|
        put_function(s, module, name, to);
    kerf_cuModuleGetFunctionCount as "cuModuleGetFunctionCount" (to: *mut u32, module: u64) |s| {
        let n = kernel_names(s, module)?.len();
        put(to, n as u32)
    };
    kerf_cuModuleEnumerateFunctions as "cuModuleEnumerateFunctions" (to: *mut u64, n: u32, module: u64) |s|
        put_functions(s, module, to, n);
    kerf_cuModuleGetGlobal_v2 as "cuModuleGetGlobal" (to: *mut u64, bytes: *mut usize, module: u64, name: *const c_char) |s|
        put_global(s, module, name, to, bytes);
    kerf_cuFuncGetModule as "cuFuncGetModule" (to: *mut u64, f: u64) |s| {
        let unit = s.functions.get(&(f as usize)).map(|f| f.module);
        let module = s.driver.modules.iter().find(|(_, u)| Some(**u) == unit).map(|(h, _)| *h);
        put(to, module.ok_or(CallFailure::from(code::INVALID_HANDLE))?)
    };
}
