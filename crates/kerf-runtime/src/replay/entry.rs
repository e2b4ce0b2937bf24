//! The function by which a worker process replays: a job and its answer, as JSON.
use super::player::Player;
use crate::error::CallFailure;
use crate::state::{State, with_state};
use kerf_exec::replay::{ReplayAnswer, ReplayJob};
use std::ffi::{CStr, CString, c_char};
use std::sync::Mutex;

struct Open(Option<Player>);
// SAFETY: the player is only used under the lock; what it refers to is a mapping that stays.
unsafe impl Send for Open {}

static PLAYER: Mutex<Open> = Mutex::new(Open(None));

fn failed(e: CallFailure) -> ReplayAnswer {
    let words = e.message.clone();
    let words = words.unwrap_or_else(|| crate::error::name(e.code).to_string_lossy().into_owned());
    ReplayAnswer::failed(words, e.sticky)
}

fn run(s: &mut State, open: &mut Option<Player>, job: &ReplayJob) -> ReplayAnswer {
    let player = match open {
        Some(p) if p.folder == job.record => p,
        Some(_) => return ReplayAnswer::failed("the worker has another record", true),
        None => match Player::open(s, &job.record, &job.device) {
            Ok(p) => open.insert(p),
            Err(e) => {
                let answer = failed(e);
                return ReplayAnswer {
                    is_fatal: true,
                    ..answer
                };
            }
        },
    };
    match player.replay(s, job) {
        Ok((wall_s, judged)) => ReplayAnswer {
            failure: None,
            is_fatal: false,
            wall_s,
            judged,
        },
        Err(e) => failed(e),
    }
}

/// Replays; for `kerf replay-worker`. The answer lasts until the next.
///
/// # Safety
/// `job` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kerf_replay(job: *const c_char) -> *const c_char {
    static ANSWER: Mutex<Option<CString>> = Mutex::new(None);
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(job) }.to_string_lossy();
    let answer = match serde_json::from_str::<ReplayJob>(&text) {
        Ok(job) => {
            let mut open = PLAYER.lock().unwrap_or_else(|e| e.into_inner());
            with_state(|s| run(s, &mut open.0, &job))
        }
        Err(e) => ReplayAnswer::failed(e.to_string(), true),
    };
    let text = serde_json::to_string(&answer).unwrap_or_default();
    let text = CString::new(text).unwrap_or_default();
    let mut kept = ANSWER.lock().unwrap_or_else(|e| e.into_inner());
    kept.insert(text).as_ptr()
}
