//! Can functions in Python be noted on 3.11 without running everything the slow way?
//!
//! A profile function makes it run every instruction of every function unspecialised, which costs
//! more than all we do. An evaluation hook (PEP 523) is called once for each function in Python,
//! and what the function does stays quick. It knows nothing of functions in C; those leave marks
//! (`calls.rs`). It is there from before a test until the test returns.
//!
//! With a hook every call in Python takes a piece of the C stack, which it does not without one:
//! a recursion that is fine in a plain run could crash here. So below a quarter of the stack of a
//! thread the hook takes itself away until the call returns, and the profile function tells
//! everything meanwhile.
//!
//! Most calls are of code that was marked in this test already, by the thread that called last.
//! Both are seen at a glance, in `MARKED` and in `END`: for such a call there is nothing to do.
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

// Where in a frame what stands, and in the state of a thread.
const IN_OBJECT: usize = 24;
const GLOBALS: usize = 8;
const CODE: usize = 32;
const TRACING: usize = 44;
const C_FRAME: usize = 56;
const PROFILE: usize = 64;
const TRACE: usize = 72;

/// Whether a frame is told to the profile function.
const TOLD: u8 = 255;
const NOT_TOLD: u8 = 0;

/// Of a stack of this many parts, one is for us.
const PARTS: usize = 4;
/// The size that a stack is taken to have if it cannot be asked.
const SMALL: usize = 1 << 18;
/// More than a `pthread_attr_t` has, in words.
const ATTRIBUTES: usize = 32;

/// A power of two, more than most tests have functions.
const N_MARKED: usize = 512;

/// Code, and the test in which it was marked last; by its address, each in the one place it can be.
static mut MARKED: [(usize, u32); N_MARKED] = [(0, 0); N_MARKED];

/// The end of the part that is for us of the stack of a thread, and its length; 0 if of none.
///
/// It holds until that thread ends: then its stack may become another's, of another size. Threads
/// may end while another one is in here.
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

/// What the agent says about the interpreter, for this.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Api {
    get: Option<unsafe extern "C" fn(Object) -> Option<Evaluate>>,
    set: Option<unsafe extern "C" fn(Object, Option<Evaluate>)>,
    interpreter: Option<unsafe extern "C" fn() -> Object>,
    /// How the interpreter evaluates a frame by itself.
    default: Option<Evaluate>,
}

/// What the hook knows.
pub(crate) struct Hook {
    is_used: bool,
    /// How many frames are run without it because there is too little stack.
    n_deep: u32,
    /// Under which each thread keeps the end of the part of its stack that is for us.
    key: u32,
}

impl Hook {
    pub(crate) fn new() -> Self {
        let mut key = 0;
        // SAFETY: it can be written to; what was marked before us is nobody's.
        unsafe {
            pthread_key_create(&raw mut key, Some(on_end));
            MARKED = [(0, 0); N_MARKED];
        }
        Self { is_used: false, n_deep: 0, key }
    }
}

/// Whether the interpreter has a hook that is not ours.
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
        // Without one the interpreter has its own, and calls functions the short way.
        set(interpreter, by);
        true
    }
}

/// From now on functions in Python are noted by the hook; whether that could be had.
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

/// Takes the profile function of this thread away, and the hook.
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

/// In a thread that was started during the test.
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

/// Whether nobody is told anything in this thread but us.
///
/// # Safety
///
/// It is the state of the thread that runs.
unsafe fn is_ours(thread: Thread) -> bool {
    // SAFETY: the caller's promise; the agent has looked.
    unsafe { word(thread, PROFILE) == profile as *const () as usize && word(thread, TRACE) == 0 }
}

/// Sets whether the frame that runs, and the one it calls next, are told; how it was before.
///
/// # Safety
///
/// As above.
unsafe fn tell(thread: Thread, whether: u8) -> u8 {
    // SAFETY: as above; a thread that runs has a frame.
    unsafe { std::ptr::replace(word(thread, C_FRAME) as *mut u8, whether) }
}

/// How deep tracing is in itself in this thread.
///
/// # Safety
///
/// As above.
unsafe fn tracing(thread: Thread) -> *mut c_int {
    // SAFETY: as above.
    unsafe { thread.byte_add(TRACING).cast() }
}

/// A thread that has called us ends.
unsafe extern "C" fn on_end(_: *mut c_void) {
    LENGTH.store(0, Ordering::SeqCst);
}

/// Whether this is in the part that is for us of a stack that was looked at last.
fn is_shallow(here: usize) -> bool {
    here.wrapping_sub(END.load(Ordering::SeqCst)) < LENGTH.load(Ordering::SeqCst)
}

/// Whether the part of the stack that is for us is used up.
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
        // All from there to here is this thread's. In this order: it may end at any time.
        LENGTH.store(0, Ordering::SeqCst);
        END.store(end, Ordering::SeqCst);
        LENGTH.store(here - end + 1, Ordering::SeqCst);
    }
    false
}

/// Where it would be among those that were marked.
fn place(code: usize) -> *mut (usize, u32) {
    let at = (code >> 4 ^ code >> 12) % N_MARKED;
    // SAFETY: there are so many.
    unsafe { (&raw mut MARKED).cast::<(usize, u32)>().add(at) }
}

/// In place of the interpreter's own function: a frame is to be run.
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

/// The same where there may be something to do.
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

/// Runs something with the profile function in use or not, and leaves that as it was.
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
        // Unless what ran has installed something, or taken us away.
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

/// The test function has returned, or an exception has left it.
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

/// What the hook does, while it is not there.
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
