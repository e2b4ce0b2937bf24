//! The driver's linker: PTX files become one image, which `cuModuleLoadData` takes.
use super::image::{ImageError, translate};
use super::module::JitOptions;
use crate::call::put;
use crate::driver_objects::{LinkInput, LinkState};
use crate::error::{CallFailure, code};
use crate::state::State;
use kerf_ir::blob;
use kerf_llvm::Module;
use std::ffi::{CStr, c_char, c_void};

/// Adds an input to a linker.
fn add(s: &mut State, link: u64, name: String, image: Vec<u8>) -> Result<(), CallFailure> {
    let found = s.driver.links.get_mut(&link);
    let link = found.ok_or(CallFailure::from(code::INVALID_HANDLE))?;
    link.inputs.push(LinkInput { name, image });
    Ok(())
}

/// Links everything that a linker was given.
fn complete(s: &mut State, link: u64) -> Result<Vec<u8>, CallFailure> {
    let found = s.driver.links.get_mut(&link);
    let inputs = std::mem::take(&mut found.ok_or(CallFailure::from(code::INVALID_HANDLE))?.inputs);
    let mut linked: Option<(Module, blob::Meta)> = None;
    for i in &inputs {
        let code = translate(s, &i.image, &i.name)?;
        let bad = |e| CallFailure::from(ImageError::Module(e));
        match &mut linked {
            None => {
                let m = Module::parse(&code.bitcode, &i.name).map_err(bad)?;
                linked = Some((m, code.meta));
            }
            Some((m, meta)) => {
                m.link(&code.bitcode, &i.name).map_err(bad)?;
                meta.unlifted.extend(code.meta.unlifted);
            }
        }
    }
    let (m, meta) = linked.ok_or(CallFailure::from(code::INVALID_VALUE))?;
    let packed = blob::pack(&meta, &m.bitcode(), None);
    packed.map_err(|e| CallFailure::new(code::INVALID_IMAGE, e.to_string()))
}

/// SAFETY: a C string or null.
unsafe fn name_or(p: *const c_char, otherwise: &str) -> String {
    if p.is_null() {
        return otherwise.to_owned();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned()
}

driver_calls! {
    kerf_cuLinkCreate_v2 as "cuLinkCreate" (_n: u32, _options: *const i32, _values: *mut *mut c_void, to: *mut u64) |s| {
        let handle = s.driver.handle();
        s.driver.links.insert(handle, LinkState::default());
        put(to, handle)
    };
    kerf_cuLinkAddData_v2 as "cuLinkAddData" (
        link: u64, _kind: i32, data: *const u8, bytes: usize, name: *const c_char,
        n: u32, options: *const i32, values: *mut *mut c_void,
    ) |s| {
        if data.is_null() {
            return Err(code::INVALID_VALUE.into());
        }
        // SAFETY: the application's own data and name.
        let (image, name) = unsafe {
            (std::slice::from_raw_parts(data, bytes).to_vec(), name_or(name, "linked.ptx"))
        };
        let added = add(s, link, name, image);
        JitOptions::new(n, options, values).tell(&added);
        added
    };
    kerf_cuLinkAddFile_v2 as "cuLinkAddFile" (
        link: u64, _kind: i32, path: *const c_char, _n: u32, _options: *const i32, _values: *mut *mut c_void,
    ) |s| {
        // SAFETY: the application's own text.
        let path = unsafe { name_or(path, "") };
        let missing = |e| CallFailure::new(code::FILE_NOT_FOUND, format!("{path}: {e}"));
        let image = std::fs::read(&path).map_err(missing)?;
        add(s, link, path, image)
    };
    kerf_cuLinkComplete as "cuLinkComplete" (link: u64, image: *mut *const c_void, bytes: *mut usize) |s| {
        let linked = complete(s, link)?;
        let found = s.driver.links.get_mut(&link);
        let state = found.ok_or(CallFailure::from(code::INVALID_HANDLE))?;
        state.linked = linked;
        put(image, state.linked.as_ptr().cast())?;
        match bytes.is_null() {
            true => Ok(()),
            false => put(bytes, state.linked.len()),
        }
    };
    kerf_cuLinkDestroy as "cuLinkDestroy" (link: u64) |s| match s.driver.links.remove(&link) {
        Some(_) => Ok(()),
        None => Err(code::INVALID_HANDLE.into()),
    };
}
