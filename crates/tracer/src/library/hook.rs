//! Notes functions in Python on 3.11 without making everything slow.
//!
//! A profile function makes the interpreter run every instruction of every function unspecialised,
//! which costs more than everything we do. An evaluation hook (PEP 523) is called once for each
//! function in Python, and the function itself stays fast. It does not see functions in C; these
//! set bytes (`calls.rs`). The hook is installed from before a test until the test returns.
//!
//! With a hook every call in Python uses some of the C stack, which it does not without one: a
//! recursion that works in a plain run could crash here. So once a quarter of a thread's stack is
//! used, the hook removes itself until the call returns, and the profile function gets all events
//! meanwhile.
//!
//! Most calls are of code that was already marked in this test, by the thread that called last.
//! Both can be seen at a glance, in `MARKED` and in `END`: such a call needs nothing to be done.
//!
//! What must hold besides what the head of `mod.rs` says: the agent has found the places below
//! in this interpreter (`agents/python/unflake_agent/trace/hook.py`), and no other hook is there.
//! A profile or trace function that is not ours is left alone, with the flag that says whether it
//! is told anything.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{CALL, Object, marks, state, word};

type Thread = *mut c_void;
pub(crate) type Evaluate = unsafe extern "C" fn(Thread, Object, c_int) -> Object;

// Offsets in a frame and in the state of a thread.
const IN_OBJECT: usize = 24;
const GLOBALS: usize = 8;
const CODE: usize = 32;
const TRACING: usize = 44;
const C_FRAME: usize = 56;
const PROFILE: usize = 64;
const TRACE: usize = 72;

/// The profile function gets the events of a frame with this flag.
const TOLD: u8 = 255;
const NOT_TOLD: u8 = 0;

/// One in this many parts of a stack is for us.
const PARTS: usize = 4;
/// The size that a stack is assumed to have if it cannot be determined.
const SMALL: usize = 1 << 18;
/// More than the size of a `pthread_attr_t`, in words.
const ATTRIBUTES: usize = 32;

/// A power of two, more than most tests have functions.
const N_MARKED: usize = 512;

/// Code, and the test in which it was last marked; its address determines the only possible place.
static mut MARKED: [(usize, u32); N_MARKED] = [(0, 0); N_MARKED];

/// The end and the length of the part of a thread's stack that is for us; 0 if no thread's.
///
/// It is valid until that thread ends: then its stack may become another's, with another size.
/// Threads may end while another one is in here.
static END: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_getattr_np(thread: usize, attributes: *mut u64) -> c_int;
    fn pthread_attr_getstack(attributes: *const u64, at: *mut usize, size: *mut usize) -> c_int;
    fn pthread_attr_destroy(attributes: *mut u64) -> c_int;
    fn pthread_key_create(key: *mut u32, end: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;
    fn pthread_getspecific(key: u32) -> usize;
    fn pthread_setspecific(key: u32, value: usize) -> c_int;
}

/// What the agent tells us about the interpreter for this module.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Api {
    get: Option<unsafe extern "C" fn(Object) -> Option<Evaluate>>,
    set: Option<unsafe extern "C" fn(Object, Option<Evaluate>)>,
    interpreter: Option<unsafe extern "C" fn() -> Object>,
    /// The interpreter's own function for evaluating a frame.
    default: Option<Evaluate>,
}

/// The state of the hook.
pub(crate) struct Hook {
    is_used: bool,
    /// How many frames run without the hook because too little stack is left.
    n_deep: u32,
    /// The key under which each thread keeps the end of our part of its stack.
    key: u32,
}

impl Hook {
    pub(crate) fn new() -> Self {
        let mut key = 0;
        // SAFETY: it can be written to; marks of an earlier state belong to nobody.
        unsafe {
            pthread_key_create(&raw mut key, Some(on_end));
            MARKED = [(0, 0); N_MARKED];
        }
        Self { is_used: false, n_deep: 0, key }
    }
}

/// Installs or removes the hook; false if that cannot be done, or if another hook is installed.
///
/// # Safety
///
/// See `state`.
unsafe fn replace(by: Option<Evaluate>) -> bool {
    // SAFETY: the caller's promise; the agent has given all functions or none.
    unsafe {
        let api = state().api.hook;
        let (Some(get), Some(set), Some(interpreter)) = (api.get, api.set, api.interpreter) else {
            return false;
        };
        let interpreter = interpreter();
        let now = get(interpreter).map(|function| function as usize);
        let known = [Some(evaluate as *const () as usize), api.default.map(|f| f as usize)];
        if !known.contains(&now) {
            return false;
        }
        // Without a hook the interpreter uses its own function, and calls functions the fast way.
        set(interpreter, by);
        true
    }
}

/// From now on the hook notes functions in Python; returns whether it could be installed.
///
/// # Safety
///
/// See `state`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tracer_hook() -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if !replace(Some(evaluate)) {
            return 0;
        }
        state().hook.is_used = true;
        let api = state().api;
        (api.set_profile)(Some(profile), null_mut());
        let thread = (api.this_thread)();
        if is_ours(thread) {
            tell(thread, NOT_TOLD);
        }
    }
    1
}

/// Removes the hook, and the profile function of this thread.
///
/// # Safety
///
/// See `state`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tracer_unhook() {
    // SAFETY: the caller's promise.
    unsafe {
        if !state().hook.is_used {
            return;
        }
        state().hook.is_used = false;
        replace(None);
        let api = state().api;
        if word((api.this_thread)(), PROFILE) == profile as *const () as usize {
            super::aside(&api, || (api.set_profile)(None, null_mut()));
        }
    }
}

/// Does the same in a thread that was started during the test.
///
/// # Safety
///
/// See `state`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tracer_hook_thread() {
    // SAFETY: the caller's promise.
    unsafe {
        let api = state().api;
        (api.set_profile)(Some(profile), null_mut());
    }
}

/// Whether nobody but us gets the events of this thread.
///
/// # Safety
///
/// It is the state of the thread that runs.
unsafe fn is_ours(thread: Thread) -> bool {
    // SAFETY: the caller's promise; the agent has looked.
    unsafe { word(thread, PROFILE) == profile as *const () as usize && word(thread, TRACE) == 0 }
}

/// Sets whether the profile function gets the events of the running frame and of the next one it
/// calls; returns the previous setting.
///
/// # Safety
///
/// As above.
unsafe fn tell(thread: Thread, whether: u8) -> u8 {
    // SAFETY: as above; a thread that runs has a frame.
    unsafe { std::ptr::replace(word(thread, C_FRAME) as *mut u8, whether) }
}

/// The nesting depth of trace functions in this thread.
///
/// # Safety
///
/// As above.
unsafe fn tracing(thread: Thread) -> *mut c_int {
    // SAFETY: as above.
    unsafe { thread.byte_add(TRACING).cast() }
}

/// Called when a thread that has called us ends.
unsafe extern "C" fn on_end(_: *mut c_void) {
    LENGTH.store(0, Ordering::SeqCst);
}

/// Whether this address is in our part of the stack that was last looked at.
fn is_shallow(here: usize) -> bool {
    here.wrapping_sub(END.load(Ordering::SeqCst)) < LENGTH.load(Ordering::SeqCst)
}

/// Whether our part of the stack is used up.
///
/// # Safety
///
/// See `state`.
unsafe fn is_deep(here: usize) -> bool {
    if is_shallow(here) {
        return false;
    }
    // SAFETY: the key was made; attributes are as large as they may be.
    unsafe {
        let key = state().hook.key;
        let mut end = pthread_getspecific(key);
        if end == 0 {
            let mut attributes = [0u64; ATTRIBUTES];
            let (mut at, mut size) = (0, 0);
            if pthread_getattr_np(pthread_self(), attributes.as_mut_ptr()) == 0 {
                pthread_attr_getstack(attributes.as_ptr(), &raw mut at, &raw mut size);
                pthread_attr_destroy(attributes.as_mut_ptr());
            }
            let is_known = at != 0 && at < here && here < at + size;
            end = if is_known { at + size - size / PARTS } else { here - SMALL / PARTS };
            pthread_setspecific(key, end);
        }
        if here < end {
            return true;
        }
        // Everything between there and here belongs to this thread. The order matters: it may end
        // at any time.
        LENGTH.store(0, Ordering::SeqCst);
        END.store(end, Ordering::SeqCst);
        LENGTH.store(here - end + 1, Ordering::SeqCst);
    }
    false
}

/// The place where code would be among the marked ones.
fn place(code: usize) -> *mut (usize, u32) {
    let at = (code >> 4 ^ code >> 12) % N_MARKED;
    // SAFETY: the index is below the length.
    unsafe { (&raw mut MARKED).cast::<(usize, u32)>().add(at) }
}

/// Replaces the interpreter's own function: a frame is about to be run.
unsafe extern "C" fn evaluate(thread: Thread, frame: Object, throws: c_int) -> Object {
    let here = 0u8;
    let here = &raw const here as usize;
    // SAFETY: the interpreter calls with its lock held, the state of the thread that runs and a
    // frame that is ready.
    unsafe {
        let state = state();
        let code = word(frame, CODE);
        if *place(code) == (code, state.test)
            && is_shallow(here)
            && let Some(default) = state.api.hook.default
        {
            return default(thread, frame, throws);
        }
        evaluate_anew(thread, frame, throws, here)
    }
}

/// The same, if there may be something to do.
///
/// # Safety
///
/// As above.
#[inline(never)]
unsafe fn evaluate_anew(thread: Thread, frame: Object, throws: c_int, here: usize) -> Object {
    // SAFETY: as above.
    unsafe {
        let state = state();
        let Some(default) = state.api.hook.default else { return null_mut() };
        let code = word(frame, CODE);
        let is_target = code == state.target;
        if !(is_target || state.is_open) || *tracing(thread) != 0 {
            return default(thread, frame, throws);
        }
        let was_open = state.is_open;
        state.enter(code);
        if !was_open {
            marks::start();
        }
        marks::mark(code as Object, word(frame, GLOBALS) as Object);
        if !is_target {
            *place(code) = (code, state.test);
        }
        let made = if is_deep(here) {
            unhooked(|| told(thread, TOLD, || default(thread, frame, throws)))
        } else {
            default(thread, frame, throws)
        };
        if is_target {
            left(code);
        }
        made
    }
}

/// Runs something with or without the profile function, and restores the previous setting.
///
/// # Safety
///
/// It is the state of the thread that runs.
unsafe fn told(thread: Thread, whether: u8, run: impl FnOnce() -> Object) -> Object {
    // SAFETY: the caller's promise.
    unsafe {
        if !is_ours(thread) {
            return run();
        }
        let before = tell(thread, whether);
        let made = run();
        // Unless what ran has installed something else, or removed us.
        if is_ours(thread) {
            tell(thread, before);
        }
        made
    }
}

/// Runs something without the hook.
///
/// # Safety
///
/// As above.
unsafe fn unhooked(run: impl FnOnce() -> Object) -> Object {
    // SAFETY: as above.
    unsafe {
        state().hook.n_deep += 1;
        replace(None);
        let made = run();
        let hook = &mut state().hook;
        hook.n_deep -= 1;
        if hook.is_used && hook.n_deep == 0 {
            replace(Some(evaluate));
        }
        made
    }
}

/// Called when the test function has returned, or was left by an exception.
///
/// # Safety
///
/// As above.
unsafe fn left(code: usize) {
    // SAFETY: as above.
    unsafe {
        state().leave(code);
        if !state().is_open {
            tracer_unhook();
            marks::close();
        }
    }
}

/// Does the work of the hook while that is not installed.
unsafe extern "C" fn profile(_: Object, frame: Object, what: c_int, _: Object) -> c_int {
    // SAFETY: the interpreter calls with its lock held and a frame that runs.
    unsafe {
        if what == CALL && state().is_open && state().hook.n_deep > 0 {
            let frame = word(frame, IN_OBJECT) as Object;
            marks::mark(word(frame, CODE) as Object, word(frame, GLOBALS) as Object);
        }
    }
    0
}
