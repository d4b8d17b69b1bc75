//! Which functions were called in this test? This runs at every call, so it is native code.
//!
//! The interpreter calls back at each call of a function: below 3.12 a profile function, from 3.12
//! on a tool of `sys.monitoring`. In Python such a callback costs more than most of the calls it
//! reports. Here it looks up one address in a table; if the function was already noted in this
//! test, that is all. Only a function that this process has not seen before is examined more
//! closely, and gets a number (`names.rs`).
//!
//! Where calls leave marks that can be read afterwards (`calls.rs`, `marks.rs`; on 3.11 with
//! `hook.rs`), they are not reported: this module is for all other interpreters and processors.
//!
//! This file is the root of the shared library (`build.rs`), which the agent loads by `ctypes`
//! (`agents/python/unflake_agent/trace/native.py`). All it knows about Python comes from the agent
//! (`Api`): addresses of functions and of objects, and offsets in objects, which the agent has
//! checked with known objects. What must hold, and why:
//!
//! * Only one thread at a time is in here. Every entry is called with the global interpreter lock
//!   held (by the interpreter, or through `PyDLL`), and the agent does not load us where there is
//!   none. The lock may be released only while Python is called (`ask`, `listen`); no reference
//!   into the state is alive then, and the state is read again afterwards.
//! * Addresses in the table are not reused for something else. The agent holds every code object
//!   that has a number. A C function is known by its definition (`PyMethodDef`), which is static
//!   data of a library that Python does not unload; `__new__` by its type.
//! * Objects that come in are borrowed, and not kept. Those that go out (`none`, `disable`) are
//!   immortal in the versions of Python that have `sys.monitoring`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};

mod calls;
mod hook;
mod map;
mod marks;
mod names;

use calls::Calls;
use map::Map;

type Object = *mut c_void;
type Profiler = unsafe extern "C" fn(Object, Object, c_int, Object) -> c_int;
type FastCall = unsafe extern "C" fn(Object, *const Object, isize) -> Object;

// The events of a profile function.
const CALL: c_int = 0;
const RETURN: c_int = 3;
const C_CALL: c_int = 4;

// Offsets in objects; checked by the agent.
const KIND: usize = 8;
const DEFINITION: usize = 16;
const BOUND_TO: usize = 24;
const DESCRIBED: usize = 40;
/// There is no second pointer to follow.
const NOWHERE: usize = usize::MAX;

/// Python has no number for it.
const NONE: u32 = u32::MAX;
/// After this many reported calls of one function's callees, its call sites are switched off one by
/// one. Switching them on again, when a later test calls it, costs as much as some thirty reports;
/// the limit is higher for the sake of call sites that call several C functions in turn.
const N_HEARD_MAX: u32 = 256;

// Which events of a code object are reported.
const CALLS_ARE: u8 = 1;
const RETURN_IS: u8 = 2;

/// What the agent tells us about this interpreter; with Python's own names where there are any.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Api {
    set_profile: unsafe extern "C" fn(Option<Profiler>, Object),
    call: unsafe extern "C" fn(Object, ...) -> Object,
    as_long: unsafe extern "C" fn(Object) -> isize,
    release: unsafe extern "C" fn(Object),
    fetch: unsafe extern "C" fn(*mut Object, *mut Object, *mut Object),
    restore: unsafe extern "C" fn(Object, Object, Object),
    this_thread: unsafe extern "C" fn() -> Object,
    enter_tracing: unsafe extern "C" fn(Object),
    leave_tracing: unsafe extern "C" fn(Object),
    hold: unsafe extern "C" fn(Object),
    bytes: unsafe extern "C" fn(*const u8, isize) -> Object,
    utf8: unsafe extern "C" fn(Object, *mut isize) -> *const u8,
    /// Returns the description of a code object or a C function.
    told: Object,
    /// Returns whether code is the runner's, or ours: 1 if so.
    is_runner: Object,
    /// The types of C functions: bound to something (two of them), and as descriptors of a class.
    bound: Object,
    bound_method: Object,
    descriptor: Object,
    none: Object,
    /// `sys.getprofile` and `sys.gettrace`: while one of them returns something, nothing is paused.
    others: [Object; 2],
    disable: Object,
    /// `sys.monitoring.set_local_events`, our tool number, and its arguments for no events, for
    /// calls, and for calls and the return.
    set_events: Object,
    tool: Object,
    no_events: Object,
    call_events: Object,
    target_events: Object,
    /// The definition shared by the `__new__` of all types in C.
    new: usize,
    /// The offsets of the pointers that lead from a frame to its code.
    to_code: [usize; 2],
    hook: hook::Api,
    calls: calls::Api,
    marks: marks::Api,
}

/// What is known about a function.
#[derive(Clone, Copy)]
struct Entry {
    number: u32,
    /// The last test in which it was noted.
    test: u32,
    /// For code: how many of its calls were reported since it was first noted in a test.
    n_heard: u32,
    /// Which of its events are reported.
    told: u8,
    /// Whether some of its call sites are switched off.
    is_worn: bool,
}

struct State {
    api: Api,
    /// Functions by the address of the code object or of the C function's definition.
    known: Vec<Entry>,
    by_address: Map,
    /// Code that ran outside of tests, and whether it is the runner's.
    outside: Map,
    /// The numbers noted in this test.
    noted: Vec<u32>,
    test: u32,
    /// The code whose call begins the test.
    target: usize,
    /// How many of its calls have not returned.
    depth: u32,
    is_open: bool,
    /// The thread that reports nothing between tests; null if there is none.
    paused: Object,
    /// Whether nothing needs to be reported after the test has returned, if nobody else listens.
    may_pause: bool,
    hook: hook::Hook,
    marks: marks::Marks,
    names: names::Names,
}

static mut STATE: *mut State = null_mut();
/// What is known about functions in C. It outlives a state: it is made before runs are forked.
static mut KNOWN: *mut Calls = null_mut();

/// # Safety
///
/// After `tracer_begin`, with the interpreter's lock held, and not kept across a call of Python.
unsafe fn state() -> &'static mut State {
    // SAFETY: it was made by `tracer_begin`, and nobody else looks at it: see the head.
    unsafe { &mut *STATE }
}

/// An index of a vector, in half the space.
///
/// After `tracer_learn`; else as above.
unsafe fn calls() -> &'static mut Calls {
    // SAFETY: it was made there, and nobody else looks at it.
    unsafe { &mut *KNOWN }
}

/// A place in a vector, in half the room.
fn short(at: usize) -> u32 {
    u32::try_from(at).expect("there are fewer of everything")
}

/// # Safety
///
/// There is a word at this place of the object.
unsafe fn word(object: Object, offset: usize) -> usize {
    // SAFETY: the caller's promise; Python's objects are aligned to words.
    unsafe { *object.byte_add(offset).cast::<usize>() }
}

impl State {
    fn known(&mut self, key: usize) -> Option<&mut Entry> {
        self.by_address.get(key).map(|at| &mut self.known[at])
    }

    /// Whether a function is known; if so, notes it, unless it was noted in this test.
    fn note(&mut self, key: usize) -> bool {
        let test = self.test;
        let Some(entry) = self.known(key) else { return false };
        if entry.test != test {
            (entry.test, entry.n_heard) = (test, 0);
            let number = entry.number;
            self.push(number);
        }
        true
    }

    fn is_noted(&self, key: usize) -> bool {
        self.by_address.get(key).is_some_and(|at| self.known[at].test == self.test)
    }

    fn push(&mut self, number: u32) {
        if number != NONE {
            self.noted.push(number);
        }
    }

    fn insert(&mut self, key: usize, number: u32) {
        self.by_address.insert(key, self.known.len());
        self.known.push(Entry { number, test: self.test, n_heard: 0, told: 0, is_worn: false });
        self.push(number);
    }

    fn enter(&mut self, code: usize) {
        if code == self.target {
            self.depth += 1;
            self.is_open = true;
        }
    }

    fn leave(&mut self, code: usize) {
        if code == self.target && self.depth > 0 {
            self.depth -= 1;
            self.is_open = self.depth > 0;
        }
    }

    /// Which events of a code object must be switched on now, after they were switched off.
    fn missing(&mut self, code: usize) -> Option<(Object, bool)> {
        let of_target = if code == self.target { RETURN_IS } else { 0 };
        let entry = self.known(code)?;
        let wanted = entry.told | CALLS_ARE | of_target;
        if entry.told == wanted && !entry.is_worn {
            return None;
        }
        let was_worn = entry.is_worn;
        (entry.told, entry.is_worn) = (wanted, false);
        let returns = wanted & RETURN_IS != 0;
        Some((if returns { self.api.target_events } else { self.api.call_events }, was_worn))
    }

    /// Whether the interpreter should report this call site again.
    fn answer(&mut self, code: usize) -> Option<Object> {
        let entry = self.known(code)?;
        entry.n_heard = entry.n_heard.saturating_add(1);
        entry.is_worn |= entry.n_heard > N_HEARD_MAX;
        let is_worn = entry.is_worn;
        Some(if is_worn { self.api.disable } else { self.api.none })
    }
}

/// Asks Python about an object; -1 if it has no answer.
///
/// # Safety
///
/// All are objects, `more` perhaps null, and nothing of the state is borrowed: Python may call us
/// again.
unsafe fn ask(api: &Api, question: Object, shown: Object, more: Object) -> isize {
    // SAFETY: the caller's promise.
    unsafe {
        aside(api, || {
            let answer = (api.call)(question, shown, more, null_mut::<c_void>());
            let number = if answer.is_null() { -1 } else { (api.as_long)(answer) };
            (api.release)(answer);
            number
        })
    }
}

/// Does something while a pending exception is set aside; an exception that it raises is dropped.
///
/// # Safety
///
/// See `state`.
unsafe fn aside<T>(api: &Api, act: impl FnOnce() -> T) -> T {
    // SAFETY: the caller's promise.
    unsafe {
        let [mut kind, mut value, mut trace] = [null_mut(); 3];
        (api.fetch)(&raw mut kind, &raw mut value, &raw mut trace);
        let done = act();
        (api.restore)(kind, value, trace);
        done
    }
}

/// Makes the interpreter report what this code calls, and when it returns if it is the test.
///
/// # Safety
///
/// `code` is a code object that runs, and nothing of the state is borrowed.
unsafe fn listen(code: Object) {
    // SAFETY: the caller's promise; `set_local_events` is made to be called here.
    unsafe {
        let api = state().api;
        let Some((events, was_worn)) = state().missing(code as usize) else { return };
        let set = |events: Object| {
            let done = (api.call)(api.set_events, api.tool, code, events, null_mut::<c_void>());
            (api.release)(done);
        };
        aside(&api, || {
            if was_worn {
                set(api.no_events);
            }
            set(events);
        });
    }
}

/// Notes a function. For code that does not run yet, its namespace is passed as well.
///
/// # Safety
///
/// `shown` is a code object or a C function, `key` the address it is known by.
unsafe fn note(key: usize, shown: Object, namespace: Object) {
    // SAFETY: see `state`; no reference is kept while Python is asked.
    unsafe {
        if state().note(key) {
            return;
        }
        let api = state().api;
        let number = names::ask(&api, shown, namespace).unwrap_or(NONE);
        let state = state();
        if !state.note(key) {
            state.insert(key, number);
        }
    }
}

/// Outside of a test: the runner's own call sites need not be reported again, all others may be
/// reached in a test.
///
/// # Safety
///
/// `code` is a code object.
unsafe fn outside(code: Object) -> Object {
    // SAFETY: as above.
    unsafe {
        let api = state().api;
        let key = code as usize;
        let known = state().outside.get(key);
        let is_runner = known.unwrap_or_else(|| {
            let said = usize::from(ask(&api, api.is_runner, code, null_mut()) == 1);
            let outside = &mut state().outside;
            if outside.get(key).is_none() {
                outside.insert(key, said);
            }
            said
        });
        if is_runner == 1 { api.disable } else { api.none }
    }
}

/// Whether it is a C function that is bound to something.
///
/// # Safety
///
/// It is an object.
unsafe fn is_bound(object: Object, api: &Api) -> bool {
    // SAFETY: the caller's promise.
    let kind = unsafe { word(object, KIND) } as Object;
    kind == api.bound || kind == api.bound_method
}

/// The address by which a C function that is bound to something is known.
///
/// # Safety
///
/// It is one.
unsafe fn definition_of(function: Object, api: &Api) -> usize {
    // SAFETY: the caller's promise; the agent has looked.
    unsafe {
        let definition = word(function, DEFINITION);
        // Types in C are not unloaded either.
        if definition == api.new { word(function, BOUND_TO) } else { definition }
    }
}

/// # Safety
///
/// `frame` is a frame that runs.
unsafe fn code_of(frame: Object, way: [usize; 2]) -> usize {
    // SAFETY: the agent has gone this way with a frame of its own.
    unsafe {
        let found = word(frame, way[0]);
        if way[1] == NOWHERE { found } else { word(found as Object, way[1]) }
    }
}

unsafe extern "C" fn profile(_: Object, frame: Object, what: c_int, arg: Object) -> c_int {
    // SAFETY: the interpreter calls with its lock held, a frame that runs, and a C function where
    // it says so.
    unsafe {
        let state = state();
        match what {
            CALL => {
                let code = code_of(frame, state.api.to_code);
                state.enter(code);
                if state.is_open {
                    note(code, code as Object, null_mut());
                }
            }
            RETURN if state.is_open => {
                let code = code_of(frame, state.api.to_code);
                state.leave(code);
            }
            C_CALL if state.is_open => {
                note(definition_of(arg, &state.api), arg, null_mut());
            }
            _ => {}
        }
    }
    0
}

/// Called when a function begins or resumes.
unsafe extern "C" fn on_start(_: Object, args: *const Object, _: isize) -> Object {
    // SAFETY: `sys.monitoring` calls with its lock held, and the code as the first argument.
    unsafe {
        let code = *args;
        let state = state();
        state.enter(code as usize);
        if !state.is_open {
            return outside(code);
        }
        let is_target = code as usize == state.target;
        if is_target || !state.is_noted(code as usize) {
            note(code as usize, code, null_mut());
            listen(code);
        }
        self::state().api.none
    }
}

/// Called when a function returns, or an exception leaves it.
unsafe extern "C" fn on_return(_: Object, args: *const Object, _: isize) -> Object {
    // SAFETY: as above.
    unsafe {
        let is_open = state().is_open;
        state().leave(*args as usize);
        if is_open && !state().is_open && state().may_pause {
            pause();
        }
        state().api.none
    }
}

/// Until the next test, the interpreter need not report anything in this thread, which is the
/// current one.
///
/// # Safety
///
/// See `state`.
unsafe fn pause() {
    // SAFETY: the caller's promise; the state is read again after Python was called.
    unsafe {
        let api = state().api;
        let is_alone = api.others.iter().all(|&other| {
            let found = aside(&api, || (api.call)(other, null_mut::<c_void>()));
            (api.release)(found);
            found == api.none
        });
        if is_alone && state().paused.is_null() {
            state().paused = (api.this_thread)();
            (api.enter_tracing)(state().paused);
        }
    }
}

/// Called when something is called: the third argument.
unsafe extern "C" fn on_call(_: Object, args: *const Object, _: isize) -> Object {
    // SAFETY: as above; what is in a C function was checked by the agent.
    unsafe {
        let state = state();
        let code = *args;
        if state.is_open {
            let called = *args.add(2);
            if is_bound(called, &state.api) {
                note(definition_of(called, &state.api), called, null_mut());
            } else if word(called, KIND) as Object == state.api.descriptor {
                note(word(called, DESCRIBED), called, null_mut());
            }
        }
        let state = self::state();
        state.answer(code as usize).unwrap_or(state.api.none)
    }
}

unsafe extern "C" fn arm(_: Object, args: *const Object, n: isize) -> Object {
    // SAFETY: Python calls with its lock held, and the agent with a code object or none.
    unsafe {
        begin(*args, n > 1);
        let api = state().api;
        (api.hold)(api.none);
        api.none
    }
}

/// Begins a new test with the next call of this code; at once if there is none.
///
/// # Safety
///
/// It is a code object or none; see `state`.
unsafe fn begin(code: Object, may_pause: bool) {
    // SAFETY: the caller's promise; a thread that is paused is the one that runs.
    unsafe {
        let state = state();
        if !state.paused.is_null() {
            (state.api.leave_tracing)(state.paused);
            state.paused = null_mut();
        }
        let is_known = code != state.api.none;
        state.test = state.test.wrapping_add(1);
        state.noted.clear();
        state.target = if is_known { code as usize } else { NOWHERE };
        state.depth = 0;
        state.is_open = !is_known;
        state.may_pause = may_pause;
        if !is_known {
            marks::open();
        }
    }
}

unsafe extern "C" fn message(_: Object, args: *const Object, _: isize) -> Object {
    // SAFETY: as above, and with two numbers.
    unsafe {
        marks::close();
        let state = state();
        state.is_open = false;
        state.target = NOWHERE;
        let test = [(state.api.as_long)(*args), (state.api.as_long)(*args.add(1))];
        let made = state.names.message(test, &state.noted, &state.api);
        state.noted.clear();
        made
    }
}

/// A `PyMethodDef`, which makes a function of ours an object in Python.
#[repr(C)]
pub(crate) struct Method {
    name: *const c_char,
    function: FastCall,
    flags: c_int,
    doc: *const c_char,
}

// SAFETY: it is never written to.
unsafe impl Sync for Method {}

/// `METH_FASTCALL`
const FAST_CALL: c_int = 0x80;

const fn method(function: FastCall) -> Method {
    Method { name: c"trace".as_ptr(), function, flags: FAST_CALL, doc: null() }
}

/// For `PY_START`, `PY_RESUME` and `PY_THROW`.
// SAFETY: (for all of these) no other code uses these names.
#[unsafe(export_name = "tracer_start")]
pub(crate) static START: Method = method(on_start);
/// For `PY_RETURN` of the test function, and `PY_UNWIND`.
#[unsafe(export_name = "tracer_return")]
pub(crate) static RETURNS: Method = method(on_return);
/// `arm(code)` or `arm(code, True)`: a new test, which begins with the next call of this code, at
/// once if it is none; with a second argument, nothing need be told after it.
#[unsafe(export_name = "tracer_arm")]
pub(crate) static ARM: Method = method(arm);
/// `message(position, attempt)`: what was noted in the test that is over, as it is sent.
#[unsafe(export_name = "tracer_message")]
pub(crate) static MESSAGE: Method = method(message);
/// The same three for marks: that a function begins or goes on, that an exception is thrown into
/// one, that the test returns.
#[unsafe(export_name = "tracer_mark_start")]
pub(crate) static MARK_START: Method = method(marks::on_start);
#[unsafe(export_name = "tracer_mark_throw")]
pub(crate) static MARK_THROW: Method = method(marks::on_throw);
#[unsafe(export_name = "tracer_mark_return")]
pub(crate) static MARK_RETURN: Method = method(marks::on_return);
/// `arm(function)`: a new test, which begins with the next call of this function, at once if it is
/// none; and `close()`: it is over, if it did not end by itself.
#[unsafe(export_name = "tracer_mark_arm")]
pub(crate) static MARK_ARM: Method = method(marks::arm);
#[unsafe(export_name = "tracer_mark_close")]
pub(crate) static MARK_CLOSE: Method = method(marks::on_close);
/// For `CALL`.
#[unsafe(export_name = "tracer_call")]
pub(crate) static CALLS: Method = method(on_call);

/// Begins a run. What an earlier run noted is forgotten.
///
/// # Safety
///
/// What the agent says is true, and stays so; nothing of ours is installed yet.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tracer_begin(api: *const Api) {
    // SAFETY: the caller's promise.
    let api = unsafe { *api };
    let made = Box::new(State {
        api,
        known: Vec::new(),
        by_address: Map::new(),
        outside: Map::new(),
        noted: Vec::new(),
        test: 0,
        target: NOWHERE,
        depth: 0,
        is_open: false,
        paused: null_mut(),
        may_pause: false,
        hook: hook::Hook::new(),
        marks: marks::Marks::new(),
        names: names::Names::new(),
    });
    // SAFETY: nobody looks at the state yet. One of a run before this stays, as Python may still
    // hold callbacks into it.
    unsafe { STATE = Box::into_raw(made) };
}

/// Notes that this code was just called in this thread.
///
/// # Safety
///
/// See `state`; it is a code object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tracer_enter(code: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        state().enter(code);
        if state().is_open {
            note(code, code as Object, null_mut());
        }
    }
}

/// Installs the profile function in this thread.
///
/// # Safety
///
/// See `state`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tracer_install() {
    // SAFETY: the caller's promise; `api` is a copy.
    unsafe {
        let api = state().api;
        (api.set_profile)(Some(profile), null_mut());
    }
}

/// Removes the profile function of this thread.
///
/// # Safety
///
/// See `state`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tracer_remove() {
    // SAFETY: as above.
    unsafe {
        let api = state().api;
        (api.set_profile)(None, null_mut());
    }
}

/// Learns which functions in C there are, and names that they go by; returns whether there is room.
///
/// # Safety
///
/// See `state`; `functions` and `names` are lists of `n`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tracer_learn(functions: Object, names: Object, n: isize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if KNOWN.is_null() {
            KNOWN = Box::into_raw(Box::new(Calls::new()));
        }
        let api = state().api;
        c_int::from(calls().learn([functions, names], n, &api))
    }
}

/// From now on calls of functions in C set their bytes.
///
/// # Safety
///
/// After `tracer_learn`; see `state`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tracer_mark_calls() {
    // SAFETY: the caller's promise.
    unsafe {
        let api = state().api;
        calls().begin(&api);
    }
}
