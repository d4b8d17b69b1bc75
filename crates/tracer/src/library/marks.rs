//! Which functions in Python ran, without an event for each? (3.12 and newer)
//!
//! From 3.12 on the interpreter numbers the changes of what is monitored, and code updates itself,
//! together with the number, when it is run. So the number is changed when a test begins, and when
//! it returns, code that ran in it has that number. Nothing else has changed, so code that runs for
//! the first time in a test has little to do; between tests the old number is restored, so the
//! runner has nothing to do. `sys.monitoring` reports which code objects exist, when they run; code
//! that runs only a few times is reported each time, and leaves no marks.
//!
//! On 3.13 there is a cheaper mark, if nobody else monitors anything: running a function replaces
//! its first instruction by another one, which checks nothing but that number. So the instruction
//! is reset when a test begins, and checked when the test is over; the number stays.
//!
//! A test is called through a function of ours, which sees it begin and end, so that no event is
//! needed: its code is marked as up to date meanwhile, unless somebody else monitors anything. What
//! happens when its variables are released belongs to the test.
//!
//! The numbers we use are far above the interpreter's own, so that no code is up to date by chance.
//! If somebody changes what is monitored in a test, it keeps the number that follows; what runs
//! then, above the test, counts as called in it.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::calls::OFFSET_FLAG;
use super::map::Map;
use super::names::{ask, number_of_code};
use super::{KIND, NONE, NOWHERE, Object, aside, begin, calls, short, state, word};

/// What the agent tells us about the interpreter for this module.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Api {
    /// The number of the last change; null if there are no marks.
    current: *mut usize,
    /// The offset at which the state of a thread also has it.
    in_thread: usize,
    step: usize,
    /// The offset at which a code object has it.
    in_code: usize,
    /// Returns the globals of the running function, which include the name of their module.
    globals: Option<unsafe extern "C" fn() -> Object>,
    name: Object,
    interpreter: Option<unsafe extern "C" fn() -> Object>,
    first_thread: Option<unsafe extern "C" fn(Object) -> Object>,
    next_thread: Option<unsafe extern "C" fn(Object) -> Object>,
    /// The offset of the first line's number in a code object.
    pub(crate) line: usize,
    /// Sets how a function is called, and how it is called by default.
    set_vectorcall: Option<unsafe extern "C" fn(Object, Vectorcall)>,
    vectorcall: Option<Vectorcall>,
    /// The instruction with which code begins or resumes, and what it becomes when it is run; 0 if
    /// nothing.
    resume: usize,
    resumed: usize,
    attribute: Option<unsafe extern "C" fn(Object, Object) -> Object>,
    /// Whether nobody else monitors, traces or profiles anything.
    is_alone: usize,
}

type Vectorcall = unsafe extern "C" fn(Object, *const Object, usize, Object) -> Object;

/// Offsets of the globals and the code in a function; checked by the agent.
const GLOBALS: usize = 16;
const CODE: usize = 48;
/// The offset of the flags in a code object, and the flags of code that can be suspended.
const FLAGS: usize = 48;
const SUSPENDS: u32 = 0x20 | 0x80 | 0x200;
/// The offset of the function in a method.
const FUNCTION: usize = 16;

/// The first of our numbers, which go up in steps of one.
const FIRST: usize = 1 << 23;
/// After this many new code objects, and twice as many as were kept, we check which of them cannot
/// run any more.
const N_CODES_KEPT: usize = 1 << 10;
/// How often the start of a code object is reported before it leaves marks. An event costs as much
/// as checking a mark after some dozen tests, and most code of tests runs only a few times.
const N_TIMES_TOLD: u32 = 4;
/// The place of a code object that is gone; another one may have its address.
const GONE: usize = usize::MAX;
/// The offset of the reference count in an object.
const REFERENCES: usize = 0;
/// Python has no number for it, and was asked.
const NEVER: u32 = NONE - 1;

#[derive(Clone, Copy)]
struct Code {
    address: Object,
    module: Object,
    number: u32,
    mentions: [u32; 2],
    /// The last test in which it was marked.
    test: u32,
    /// How often its start was reported.
    n_told: u32,
}

impl Code {
    fn is_looked_at(&self) -> bool {
        self.n_told >= N_TIMES_TOLD
    }
}

pub(crate) struct Marks {
    by_address: Map,
    /// Code of tests that were called by another function than the armed one: their return is
    /// reported.
    tests: Map,
    codes: Vec<Code>,
    /// Addresses and indices of code that leaves marks, which is checked when a test is over.
    looked_at: Vec<(usize, usize)>,
    /// The same for instructions, if these leave marks.
    instructions: Vec<(*mut u8, usize)>,
    by_instruction: Map,
    /// Those whose start is reported.
    told: Vec<(usize, usize)>,
    marked: Vec<u32>,
    /// The number of code that ran in this test.
    number: usize,
    /// The number before this test.
    outside: usize,
    /// The number before the first test; 0 until then.
    first: usize,
    is_open: bool,
    /// With more code objects than this, we check which can be released.
    n_codes_kept: usize,
    /// The function whose next call is the test.
    function: Object,
    /// The function that calls tests, if known.
    caller: Option<Caller>,
}

/// A function that calls an attribute of its argument.
#[derive(Clone, Copy)]
struct Caller {
    name: Object,
    /// Called with the argument if it is not clear what will be called.
    otherwise: Object,
    /// The types of functions and methods.
    function: Object,
    method: Object,
    /// The type of arguments that have the attribute.
    argument: Object,
}

impl Marks {
    pub(crate) fn new() -> Self {
        Self {
            by_address: Map::new(),
            tests: Map::new(),
            codes: Vec::new(),
            looked_at: Vec::new(),
            instructions: Vec::new(),
            by_instruction: Map::new(),
            told: Vec::new(),
            marked: Vec::new(),
            number: 0,
            outside: 0,
            first: 0,
            is_open: false,
            n_codes_kept: N_CODES_KEPT,
            function: null_mut(),
            caller: None,
        }
    }

    /// A code object begins, and that was reported. Returns whether it need not be reported again,
    /// because marks are checked instead.
    fn count(&mut self, at: usize) -> bool {
        let code = &mut self.codes[at];
        if code.n_told < N_TIMES_TOLD {
            // The runner's own code begins in each test, outside of it.
            code.n_told = if self.is_open { code.n_told + 1 } else { N_TIMES_TOLD };
            if code.n_told == N_TIMES_TOLD {
                self.looked_at.push((code.address as usize, at));
            }
        }
        code.is_looked_at()
    }

    /// From now on, marks replace the event that a code object begins or resumes with this
    /// instruction.
    fn look_at(&mut self, instruction: *mut u8, at: usize) {
        let known = self.by_instruction.get(instruction as usize);
        match known {
            Some(GONE) => self.by_instruction.replace(instruction as usize, at),
            Some(_) => return,
            None => self.by_instruction.insert(instruction as usize, at),
        }
        self.instructions.push((instruction, at));
    }
}

/// The index of a code object; a new one is learned with its globals. Whether the event of its
/// start was reported matters for how it is treated.
///
/// # Safety
///
/// These are a code object and its globals.
unsafe fn learn(code: Object, is_told: bool, globals: impl FnOnce(&Api) -> Object) -> usize {
    // SAFETY: the caller's promise; the agent has looked.
    unsafe {
        let state = state();
        let known = state.marks.by_address.get(code as usize);
        if let Some(at) = known.filter(|at| *at != GONE) {
            return at;
        }
        let api = state.api;
        let at = state.marks.codes.len();
        let (mut module, mut mentions) = (api.none, [0; 2]);
        let globals = globals(&api.marks);
        if let (false, Some(item)) = (globals.is_null(), api.calls.dict_item) {
            let named = item(globals, api.marks.name);
            if !named.is_null() {
                module = named;
            }
            mentions = calls().mentions(code, is_told, globals, &api);
        }
        (api.hold)(module);
        (api.hold)(code);
        let marks = &mut state.marks;
        if known.is_some() {
            marks.by_address.replace(code as usize, at);
        } else {
            marks.by_address.insert(code as usize, at);
        }
        marks.told.push((code as usize, at));
        let number = NONE;
        marks.codes.push(Code { address: code, module, number, mentions, test: 0, n_told: 0 });
        at
    }
}

/// The globals of the running function.
fn running(api: &Api) -> Object {
    // SAFETY: it is called with the interpreter's lock held.
    api.globals.map_or(null_mut(), |globals| unsafe { globals() })
}

/// Marks a code object that is about to run, when that is reported: tests, and everything on 3.11.
///
/// # Safety
///
/// These are a code object and its globals.
pub(crate) unsafe fn mark(code: Object, globals: Object) {
    // SAFETY: the caller's promise.
    unsafe { mark_at(learn(code, false, |_| globals)) }
}

/// # Safety
///
/// It is the place of a code.
unsafe fn mark_at(at: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let state = state();
        let (test, marks) = (state.test, &mut state.marks);
        let known = &mut marks.codes[at];
        if known.test != test {
            known.test = test;
            marks.marked.push(short(at));
            calls().ran(known.mentions, test);
        }
    }
}

/// From now on, counts what runs.
///
/// # Safety
///
/// See `state`.
pub(crate) unsafe fn start() {
    // SAFETY: the caller's promise.
    unsafe {
        state().marks.marked.clear();
        state().marks.is_open = true;
        let api = state().api;
        calls().forget(&api);
    }
}

/// Called when a function begins or resumes.
pub(crate) unsafe extern "C" fn on_start(_: Object, args: *const Object, _: isize) -> Object {
    // SAFETY: `sys.monitoring` calls with its lock held, and the code as the first argument.
    unsafe {
        let code = *args;
        let at = learn(code, true, running);
        if code as usize == state().target && state().depth == 0 {
            // It is called through another function with the same code.
            state().enter(code as usize);
            listen(code);
            open();
        }
        let state = state();
        if state.marks.is_open {
            mark_at(at);
        }
        if !state.marks.count(at) {
            return state.api.none;
        }
        if state.api.marks.resumed != 0 {
            let offset = (state.api.as_long)(*args.add(1)).cast_unsigned();
            let instruction = code.byte_add(state.api.calls.running + offset);
            state.marks.look_at(instruction.cast(), at);
        }
        state.api.disable
    }
}

/// Called when an exception is thrown into a generator, which might not resume otherwise.
pub(crate) unsafe extern "C" fn on_throw(_: Object, args: *const Object, _: isize) -> Object {
    // SAFETY: as above.
    unsafe {
        let code = *args;
        let at = learn(code, true, running);
        if state().marks.is_open {
            mark_at(at);
        }
        state().api.none
    }
}

/// Makes the next call of this function begin a new test.
pub(crate) unsafe extern "C" fn arm(_: Object, args: *const Object, _: isize) -> Object {
    // SAFETY: Python calls with its lock held, and the agent with a function in Python or none.
    unsafe {
        let (api, function) = (state().api, *args);
        if function == api.none {
            begin(function, false);
        } else {
            arm_function(function);
        }
        (api.hold)(api.none);
        api.none
    }
}

/// # Safety
///
/// It is a function in Python; else see `state`.
unsafe fn arm_function(function: Object) {
    // SAFETY: the caller's promise.
    unsafe {
        begin(word(function, CODE) as Object, false);
        state().marks.function = function;
        if let Some(set) = state().api.marks.set_vectorcall {
            set(function, on_call);
        }
    }
}

/// From now on a call of `function` arms an attribute of its argument.
///
/// # Safety
///
/// See `state`; these are a function in Python, a string, something to call, and three types,
/// which the agent holds.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn tracer_announce(
    function: Object,
    name: Object,
    otherwise: Object,
    of_functions: Object,
    of_methods: Object,
    of_arguments: Object,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let caller = Caller {
            name,
            otherwise,
            function: of_functions,
            method: of_methods,
            argument: of_arguments,
        };
        state().marks.caller = Some(caller);
        if let Some(set) = state().api.marks.set_vectorcall {
            set(function, on_caller);
        }
    }
}

/// Called in place of the function that calls tests.
unsafe extern "C" fn on_caller(
    function: Object,
    args: *const Object,
    n: usize,
    named: Object,
) -> Object {
    // SAFETY: the interpreter calls as it does any function, with its lock held.
    unsafe {
        let api = state().api;
        let Some(call) = api.marks.vectorcall else { return null_mut() };
        // A test may run other tests.
        if !state().marks.is_open
            && let (Some(caller), 1) = (state().marks.caller, n & !OFFSET_FLAG)
            && !announce(caller, *args)
        {
            return null_mut();
        }
        call(function, args, n, named)
    }
}

/// Arms what will be called; false if there is an exception, which the real call would have raised.
///
/// # Safety
///
/// See `state`; nothing of it is borrowed.
unsafe fn announce(caller: Caller, argument: Object) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let api = state().api;
        let Some(attribute) = api.marks.attribute else { return true };
        let mut found = null_mut();
        if word(argument, KIND) as Object == caller.argument {
            found = aside(&api, || attribute(argument, caller.name));
        }
        let is_method = !found.is_null() && word(found, KIND) as Object == caller.method;
        let called = if is_method { word(found, FUNCTION) as Object } else { found };
        if !called.is_null()
            && word(called, KIND) as Object == caller.function
            && !is_suspended(called)
        {
            arm_function(called);
            (api.release)(found);
            return true;
        }
        (api.release)(found);
        let said = (api.call)(caller.otherwise, argument, null_mut::<std::ffi::c_void>());
        (api.release)(said);
        !said.is_null()
    }
}

/// Whether the code of a function can be suspended, so that its body runs later.
///
/// # Safety
///
/// It is a function in Python.
unsafe fn is_suspended(function: Object) -> bool {
    // SAFETY: the caller's promise; the agent has looked.
    unsafe {
        let code = word(function, CODE) as Object;
        *code.byte_add(FLAGS).cast::<u32>() & SUSPENDS != 0
    }
}

/// Called in place of the test, or of a function that was to be one.
unsafe extern "C" fn on_call(
    function: Object,
    args: *const Object,
    n: usize,
    named: Object,
) -> Object {
    // SAFETY: the interpreter calls as it does any function, with its lock held.
    unsafe {
        let api = state().api;
        let (Some(set), Some(call)) = (api.marks.set_vectorcall, api.marks.vectorcall) else {
            return null_mut();
        };
        if state().marks.function != function {
            set(function, call);
            return call(function, args, n, named);
        }
        let (test, code) = (state().test, state().target as Object);
        state().enter(code as usize);
        if state().depth > 1 {
            return leave(test, function, call(function, args, n, named));
        }
        open();
        mark(code, word(function, GLOBALS) as Object);
        // Its start is known, and an event for it costs more than most other work.
        let place = code.byte_add(api.marks.in_code).cast::<usize>();
        let (before, now) = (*place, *api.marks.current);
        let is_known = is_alone(&api.marks, &state().marks);
        if is_known {
            *place = now;
        }
        let made = call(function, args, n, named);
        if is_known && *place == now {
            // If it is called in another way, that must be reported.
            *place = before;
        }
        leave(test, function, made)
    }
}

/// A call of the test is over; if it was the outermost, so is the test.
///
/// # Safety
///
/// See `state`; the function was called in this test.
unsafe fn leave(test: u32, function: Object, made: Object) -> Object {
    // SAFETY: the caller's promise.
    unsafe {
        let api = state().api;
        if state().test != test {
            return made;
        }
        state().depth = state().depth.saturating_sub(1);
        if let (0, Some(set), Some(call)) =
            (state().depth, api.marks.set_vectorcall, api.marks.vectorcall)
        {
            state().marks.function = null_mut();
            set(function, call);
            aside(&api, || end());
        }
        made
    }
}

/// Ends the test, if it is not over yet.
pub(crate) unsafe extern "C" fn on_close(_: Object, _: *const Object, _: isize) -> Object {
    // SAFETY: Python calls with its lock held.
    unsafe {
        end();
        let api = state().api;
        (api.hold)(api.none);
        api.none
    }
}

/// # Safety
///
/// See `state`.
unsafe fn end() {
    // SAFETY: the caller's promise.
    unsafe {
        (state().is_open, state().depth) = (false, 0);
        close();
    }
}

/// Called when a function returns.
pub(crate) unsafe extern "C" fn on_return(_: Object, args: *const Object, _: isize) -> Object {
    // SAFETY: as above.
    unsafe {
        // If it is recursive, the outermost call counts.
        if *args as usize == state().target && state().depth == 1 {
            state().is_open = false;
            close();
        }
        state().api.none
    }
}

/// Makes the interpreter report when this code returns.
///
/// # Safety
///
/// It is a code object, and nothing of the state is borrowed.
unsafe fn listen(code: Object) {
    // SAFETY: the caller's promise.
    unsafe {
        if state().api.marks.current.is_null() {
            return;
        }
        let (api, marks) = (state().api, &mut state().marks);
        if marks.tests.get(code as usize).is_some() {
            return;
        }
        marks.tests.insert(code as usize, 0);
        (api.hold)(code);
        let null = null_mut::<std::ffi::c_void>();
        aside(&api, || {
            (api.release)((api.call)(api.set_events, api.tool, code, api.target_events, null));
        });
    }
}

/// The test begins: code that runs from now on gets another number.
///
/// # Safety
///
/// See `state`.
pub(crate) unsafe fn open() {
    // SAFETY: the caller's promise; the agent has found the places.
    unsafe {
        let state = state();
        let api = state.api.marks;
        if api.current.is_null() {
            if api.globals.is_some() {
                start();
            }
            return;
        }
        let marks = &mut state.marks;
        marks.outside = *api.current;
        if marks.first == 0 {
            marks.first = marks.outside;
        }
        if has_instructions(&api, marks) && clear(&api, marks) {
            marks.number = marks.outside + api.step;
        } else {
            let last = marks.number.max(marks.outside).max(FIRST * api.step);
            marks.number = last + api.step;
            set(&api, marks.number);
        }
        start();
    }
}

/// Whether nobody else monitors anything. This ends as soon as somebody changes what is monitored,
/// because they may get events of code that we do not.
fn is_alone(api: &Api, marks: &Marks) -> bool {
    api.is_alone != 0 && marks.first == marks.outside
}

/// Whether instructions leave marks.
fn has_instructions(api: &Api, marks: &Marks) -> bool {
    api.resumed != 0 && is_alone(api, marks)
}

/// One byte, which the agent passed as a word.
fn instruction_of(word: usize) -> u8 {
    word.to_le_bytes()[0]
}

/// Resets the marks of all instructions; false if one of them cannot leave any.
///
/// # Safety
///
/// As above.
unsafe fn clear(api: &Api, marks: &mut Marks) -> bool {
    // SAFETY: as above; the code is held.
    unsafe {
        let [resume, resumed] = [instruction_of(api.resume), instruction_of(api.resumed)];
        for &(instruction, _) in &marks.instructions {
            if *instruction == resume {
                continue;
            }
            if *instruction != resumed {
                // Somebody gets events of this code only.
                marks.first = GONE;
                return false;
            }
            *instruction = resume;
        }
    }
    true
}

/// # Safety
///
/// As above.
unsafe fn set(api: &Api, number: usize) {
    // SAFETY: as above.
    unsafe {
        let more = number.wrapping_sub(*api.current);
        *api.current = number;
        let (Some(interpreter), Some(first), Some(next)) =
            (api.interpreter, api.first_thread, api.next_thread)
        else {
            return;
        };
        if api.in_thread == NOWHERE {
            return;
        }
        let mut thread = first(interpreter());
        while !thread.is_null() {
            // Others may set flags in the same word.
            let place = &*thread.byte_add(api.in_thread).cast::<AtomicUsize>();
            place.fetch_add(more, Ordering::SeqCst);
            thread = next(thread);
        }
    }
}

/// The test is over: notes what ran in it.
///
/// # Safety
///
/// See `state`.
pub(crate) unsafe fn close() {
    // SAFETY: the caller's promise; no reference is kept while Python is asked.
    unsafe {
        let state = state();
        state.marks.function = null_mut();
        if !state.marks.is_open {
            return;
        }
        state.marks.is_open = false;
        let (api, test) = (state.api, state.test);
        calls().take(&api);
        if !api.marks.current.is_null() {
            find();
        }
        tell_codes(&api);
        tell_calls(&api, test);
        if self::state().marks.codes.len() > self::state().marks.n_codes_kept
            && !api.marks.current.is_null()
        {
            let_go();
        }
    }
}

/// Marks the code objects that have the number of this test, or had to be updated after it.
///
/// # Safety
///
/// See `state`.
unsafe fn find() {
    // SAFETY: the caller's promise.
    unsafe {
        let state = state();
        let (api, marks) = (state.api, &mut state.marks);
        let is_ours = !has_instructions(&api.marks, marks);
        if !is_ours {
            let resume = instruction_of(api.marks.resume);
            for &(instruction, at) in &marks.instructions {
                if *instruction != resume {
                    mark_at(at);
                }
            }
            if *api.marks.current == marks.outside {
                return;
            }
        }
        let is_unchanged = is_ours && *api.marks.current == marks.number;
        if is_unchanged {
            set(&api.marks, marks.outside);
        }
        let (number, outside, in_code) = (marks.number, marks.outside, api.marks.in_code);
        for &(address, at) in &marks.looked_at {
            let place = (address as Object).byte_add(in_code).cast::<usize>();
            // The number is larger if somebody has changed what is monitored meanwhile.
            if *place >= number {
                if is_unchanged {
                    // Otherwise the interpreter would update it, slowly, if it runs between tests.
                    *place = outside;
                }
                mark_at(at);
            }
        }
    }
}

/// Releases code that nobody else refers to and that cannot run again: templates, say, that a test
/// has compiled.
///
/// # Safety
///
/// See `state`; nothing of it is borrowed.
unsafe fn let_go() {
    // SAFETY: the caller's promise; when code is released, Python may be called, and may call us.
    unsafe {
        let api = state().api;
        let marks = &mut state().marks;
        let mut gone = Vec::new();
        let codes = &marks.codes;
        marks.told.retain(|&(_, at)| !codes[at].is_looked_at());
        let by_instruction = &mut marks.by_instruction;
        marks.instructions.retain(|&(instruction, at)| {
            let is_kept = word(codes[at].address, REFERENCES) != 1;
            if !is_kept {
                by_instruction.replace(instruction as usize, GONE);
            }
            is_kept
        });
        for each in [&mut marks.told, &mut marks.looked_at] {
            each.retain(|&(address, at)| {
                let is_kept = word(address as Object, REFERENCES) != 1;
                if !is_kept {
                    gone.push((address, at));
                }
                is_kept
            });
        }
        for &(address, _) in &gone {
            marks.by_address.replace(address, GONE);
        }
        let n_left = marks.told.len() + marks.looked_at.len();
        marks.n_codes_kept = marks.codes.len() + n_left.max(N_CODES_KEPT);
        while let Some((address, at)) = gone.pop() {
            let module = state().marks.codes[at].module;
            (api.release)(module);
            (api.release)(address as Object);
        }
    }
}

/// # Safety
///
/// As above.
unsafe fn tell_codes(api: &super::Api) {
    // SAFETY: as above.
    unsafe {
        for each in 0..state().marks.marked.len() {
            let at = state().marks.marked[each] as usize;
            let code = state().marks.codes[at];
            let mut number = code.number;
            if number == NONE {
                number = number_of_code(api, code.address, code.module).unwrap_or(NEVER);
                state().marks.codes[at].number = number;
            }
            if number != NEVER {
                state().noted.push(number);
            }
        }
    }
}

/// # Safety
///
/// As above.
unsafe fn tell_calls(api: &super::Api, test: u32) {
    // SAFETY: as above.
    unsafe {
        while let Some((at, shown, mut number)) = calls().pop(test) {
            if number == NONE {
                number = ask(api, shown, null_mut()).unwrap_or(NEVER);
                calls().set_number(at, number);
            }
            if number != NEVER {
                state().noted.push(number);
            }
        }
    }
}
