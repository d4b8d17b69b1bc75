//! Which functions in C were called, without an event for every call?
//!
//! A function in C is always called through a pointer in its definition (`PyMethodDef`). We make
//! that pointer lead to a stub of ours, which sets a byte and jumps on to the function: two
//! instructions that touch no register, so that they fit before any function. When a test has
//! returned, the bytes show what it called.
//!
//! There are thousands of functions, and a process calls a few hundred of them. So the first stub
//! of a function also records that some function was called for the first time, and then the
//! function gets another stub, next to the others in use: only these are looked at after each test,
//! and they stay together in the processor's cache.
//!
//! The bytes also record calls by C code, as in `map(len, …)`, while a profile function only sees
//! calls by Python code. So a function counts if code that ran in the test may have called it: the
//! code has a name that the function goes by, as an attribute, a variable or a string; or a global
//! variable that it uses holds the function; or a statement calls it implicitly (`with` calls
//! `__exit__`, `class` calls `__build_class__`).
//!
//! The makers of types (`__new__`) share one definition, which the interpreter compares with its
//! own. They get no stub but a call function (vectorcall), which does what the interpreter does
//! with an object that has none.
//!
//! What must hold, besides what the head of `mod.rs` says: functions and names that we were given
//! are held here, so that their addresses are not reused. A stub changes nothing that anybody reads
//! but the interpreter itself, and code compiled by Cython, which then takes a function for
//! overridden, and calls it all the same.

use std::ffi::c_int;
use std::ptr::null_mut;

use super::map::Map;
use super::{NONE, Object, short, word};

/// How many functions can be watched.
const N_STUBS: usize = 1 << 14;
/// How many of them can get a second stub. Functions called after that keep their first one.
const N_USED: usize = 1 << 12;

static mut CALLED: [u8; N_STUBS] = [0; N_STUBS];
static mut FUNCTIONS: [usize; N_STUBS] = [0; N_STUBS];
/// Whether any function with a first stub was called.
static mut IS_ANY_CALLED: u8 = 0;
/// One byte each; eight of them are read at once.
static mut USED_CALLED: [u64; N_USED / 8] = [0; N_USED / 8];
static mut USED_FUNCTIONS: [usize; N_USED] = [0; N_USED];

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text",
    ".p2align 4",
    "unflake_stubs:",
    ".set unflake_stub, 0",
    ".rept {n}",
    "pushq $unflake_stub",
    "jmp unflake_first",
    ".p2align 4",
    ".set unflake_stub, unflake_stub + 1",
    ".endr",
    // No function takes arguments in these two registers.
    "unflake_first:",
    "popq %r11",
    "movb $1, {is_any}(%rip)",
    "leaq {called}(%rip), %r10",
    "movb $1, (%r10, %r11)",
    "leaq {functions}(%rip), %r10",
    "jmpq *(%r10, %r11, 8)",
    ".p2align 4",
    "unflake_used_stubs:",
    ".set unflake_stub, 0",
    ".rept {n_used}",
    "movb $1, ({used_called} + unflake_stub)(%rip)",
    "jmpq *({used_functions} + 8 * unflake_stub)(%rip)",
    ".p2align 4",
    ".set unflake_stub, unflake_stub + 1",
    ".endr",
    ".popsection",
    n = const N_STUBS,
    n_used = const N_USED,
    is_any = sym IS_ANY_CALLED,
    called = sym CALLED,
    functions = sym FUNCTIONS,
    used_called = sym USED_CALLED,
    used_functions = sym USED_FUNCTIONS,
    options(att_syntax)
);

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    #[link_name = "unflake_stubs"]
    static STUBS: u8;
    #[link_name = "unflake_used_stubs"]
    static USED_STUBS: u8;
}

/// The address of a function's stub.
fn stub(at: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    return (&raw const STUBS) as usize + STUB * at;
    #[cfg(not(target_arch = "x86_64"))]
    return at;
}

/// The address of a stub in use.
fn used_stub(at: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    return (&raw const USED_STUBS) as usize + STUB * at;
    #[cfg(not(target_arch = "x86_64"))]
    return at;
}

unsafe extern "C" {
    fn mprotect(at: usize, length: usize, may: c_int) -> c_int;
}

const STUB: usize = 16;
const PAGE: usize = 4096;
const READ_AND_WRITE: c_int = 3;

// The offset of the function in a definition, and of the call function in an object.
const FUNCTION: usize = 8;
const VECTORCALL: usize = 48;
/// Says that the slot before the first argument may be overwritten.
pub(crate) const OFFSET_FLAG: usize = 1 << 63;

// Offsets in a tuple and in bytes.
const LENGTH: usize = 16;
const ITEMS: usize = 24;
const BYTES: usize = 32;
/// Offsets of the constants, the variables and the names in a code object; checked by the agent.
const WORDS: [usize; 2] = [24, 96];
const NAMES: usize = 32;
const N_INSTRUCTIONS: usize = 256;
const N_PAIRS: usize = 5;

/// What the agent tells us about the interpreter for this module.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Api {
    list_item: Option<unsafe extern "C" fn(Object, isize) -> Object>,
    pub(crate) dict_item: Option<unsafe extern "C" fn(Object, Object) -> Object>,
    code_bytes: Option<unsafe extern "C" fn(Object) -> Object>,
    make_call: Option<unsafe extern "C" fn(Object, Object, *const Object, isize, Object) -> Object>,
    /// Names, and the instructions that implicitly call functions with these names.
    unseen: [[usize; 2]; 2],
    /// Instructions that use an attribute and a global variable, and by how much the index of the
    /// name is shifted.
    attributes: [[usize; 2]; 2],
    globals: [[usize; 2]; 2],
    /// The instruction that extends the argument of the next one.
    extends: usize,
    /// The offset of the instructions in a code object, as they are run now.
    pub(crate) running: usize,
    /// For each instruction, as it is run: what it was compiled as (0 if unknown), and how many
    /// cache entries follow it.
    compiled: *const [u8; 2],
    /// Two instructions that are run as one, and that one; null if that need not be restored.
    pairs: *const [[u8; 3]; N_PAIRS],
}

#[derive(Clone, Copy)]
struct Function {
    /// The object from which it gets its number.
    shown: Object,
    number: u32,
    /// The last of its names, which form a linked list.
    name: u32,
    /// The last test in which code ran that has it in a global variable.
    test: u32,
    /// Its index among the stubs in use; `NONE` if it was not called yet.
    used: u32,
}

/// What an instruction does with names, and by how much the index of the name is shifted.
#[derive(Clone, Copy)]
enum Use {
    Nothing,
    /// Extends the argument of the next instruction.
    Extends,
    Attribute(usize),
    Global(usize),
    /// Implicitly calls functions with this name.
    Unseen(u8),
}

/// What is known about an instruction, as it is run.
#[derive(Clone, Copy)]
struct Instruction {
    what: Use,
    compiled: u8,
    /// How many code units there are from it to the next.
    n_places: u8,
    /// Whether it may be run as one with another instruction.
    is_paired: bool,
}

/// Indexed by instruction, because it is looked up for everything that runs, and most instructions
/// have nothing to do with names.
///
/// # Safety
///
/// The agent has given a table.
unsafe fn instructions(api: &Api) -> [Instruction; N_INSTRUCTIONS] {
    let mut uses = [Use::Nothing; N_INSTRUCTIONS];
    let mut set = |instruction: usize, what: Use| {
        if let Some(place) = uses.get_mut(instruction) {
            *place = what;
        }
    };
    set(api.extends, Use::Extends);
    for [instruction, shift] in api.attributes {
        set(instruction, Use::Attribute(shift));
    }
    for [instruction, shift] in api.globals {
        set(instruction, Use::Global(shift));
    }
    for (number, [_, instruction]) in (0..).zip(api.unseen) {
        set(instruction, Use::Unseen(number));
    }
    let mut made = [UNKNOWN; N_INSTRUCTIONS];
    for (at, place) in made.iter_mut().enumerate() {
        // SAFETY: the table has an entry for each instruction.
        let [compiled, n_notes] = unsafe { *api.compiled.add(at) };
        if compiled != 0 {
            let what = uses[usize::from(compiled)];
            // SAFETY: it is null or there.
            let mut pairs = unsafe { api.pairs.as_ref() }.into_iter().flatten();
            let is_paired = pairs.any(|[one, then, _]| [*one, *then].contains(&compiled));
            *place = Instruction { what, compiled, n_places: 1 + n_notes, is_paired };
        }
    }
    made
}

const UNKNOWN: Instruction =
    Instruction { what: Use::Nothing, compiled: 0, n_places: 0, is_paired: false };

/// One of the names that a function goes by.
#[derive(Clone, Copy)]
struct Alias {
    name: u32,
    before: u32,
}

/// All functions in C, and what code may call.
pub(crate) struct Calls {
    functions: Vec<Function>,
    by_definition: Map,
    aliases: Vec<Alias>,
    names: Map,
    /// For each name, the last test in which code ran that has it.
    tests: Vec<u32>,
    /// What code may call, one code object after another: names, and indices of functions after
    /// them.
    mentions: Vec<u32>,
    instructions: [Instruction; N_INSTRUCTIONS],
    /// A bit for each name, by its address: most words of code are not names, and looking each of
    /// them up would take more time.
    hints: [u64; N_HINTS],
    called: Vec<u32>,
    /// The functions with a stub in use.
    used: Vec<u32>,
    are_patched: bool,
    /// The last page of definitions that was made writable.
    page: usize,
}

/// The number of 64-bit words, a power of two.
const N_HINTS: usize = 1 << 10;
/// The limit of names in `mentions`; larger values are functions.
const FUNCTION_AFTER: u32 = 1 << 31;

impl Calls {
    pub(crate) fn new() -> Self {
        Self {
            functions: Vec::new(),
            by_definition: Map::new(),
            aliases: Vec::new(),
            names: Map::new(),
            tests: Vec::new(),
            mentions: Vec::new(),
            instructions: [UNKNOWN; N_INSTRUCTIONS],
            hints: [0; N_HINTS],
            called: Vec::new(),
            used: Vec::new(),
            are_patched: false,
            page: 0,
        }
    }

    /// Learns lists of functions and of names that they go by; returns whether there is room for
    /// all.
    ///
    /// # Safety
    ///
    /// They are lists of `n` functions in C and interned strings.
    pub(crate) unsafe fn learn(&mut self, lists: [Object; 2], n: isize, api: &super::Api) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let Some(item) = api.calls.list_item else { return false };
            for at in 0..n {
                if !self.learn_one(item(lists[0], at), item(lists[1], at) as usize, api) {
                    return false;
                }
            }
        }
        true
    }

    /// # Safety
    ///
    /// As above, of one.
    unsafe fn learn_one(&mut self, shown: Object, name: usize, api: &super::Api) -> bool {
        // SAFETY: as above.
        unsafe {
            let key = key_of(shown, api);
            let at = match self.by_definition.get(key) {
                Some(at) => at,
                None if self.functions.len() == N_STUBS => return false,
                None => {
                    let at = self.functions.len();
                    (api.hold)(shown);
                    self.functions.push(Function {
                        shown,
                        number: NONE,
                        name: NONE,
                        test: 0,
                        used: NONE,
                    });
                    self.by_definition.insert(key, at);
                    if self.are_patched {
                        self.patch(shown, at, api);
                    }
                    at
                }
            };
            let name = self.name(name, api);
            self.call_by(at, name);
        }
        true
    }

    /// # Safety
    ///
    /// It is a string.
    unsafe fn name(&mut self, address: usize, api: &super::Api) -> u32 {
        if let Some(known) = self.names.get(address) {
            return short(known);
        }
        // SAFETY: the caller's promise.
        unsafe { (api.hold)(address as Object) };
        let name = self.tests.len();
        self.names.insert(address, name);
        let (at, bit) = hint(address);
        self.hints[at] |= bit;
        self.tests.push(0);
        short(name)
    }

    fn call_by(&mut self, at: usize, name: u32) {
        let last = self.functions[at].name;
        let mut alias = last;
        while alias != NONE {
            let known = self.aliases[alias as usize];
            if known.name == name {
                return;
            }
            alias = known.before;
        }
        self.functions[at].name = short(self.aliases.len());
        self.aliases.push(Alias { name, before: last });
    }

    /// From now on calls set the bytes.
    ///
    /// # Safety
    ///
    /// What we were told about the functions is true.
    pub(crate) unsafe fn begin(&mut self, api: &super::Api) {
        for at in 0..self.functions.len() {
            self.functions[at].number = NONE;
            if !self.are_patched {
                // SAFETY: the caller's promise.
                unsafe { self.patch(self.functions[at].shown, at, api) };
            }
        }
        self.are_patched = true;
        // SAFETY: the caller's promise.
        self.instructions = unsafe { instructions(&api.calls) };
    }

    /// Makes calls of a function set its byte, unless its definition cannot be made writable.
    ///
    /// # Safety
    ///
    /// It is a function in C, and has no stub yet.
    unsafe fn patch(&mut self, function: Object, at: usize, api: &super::Api) {
        // SAFETY: the caller's promise. A page of definitions is data; it may have been made
        // read-only after the library was loaded, and is ours in this process.
        unsafe {
            if is_maker(function, api) {
                let place = function.byte_add(VECTORCALL).cast::<usize>();
                if *place == 0 {
                    *place = make as *const () as usize;
                }
                return;
            }
            let place = (key_of(function, api) + FUNCTION) as *mut usize;
            let page = place as usize & !(PAGE - 1);
            if page == self.page || mprotect(page, PAGE, READ_AND_WRITE) == 0 {
                self.page = page;
                *(&raw mut FUNCTIONS).cast::<usize>().add(at) = *place;
                place.write(stub(at));
            }
        }
    }

    /// What code may call, as a range in `mentions`.
    ///
    /// # Safety
    ///
    /// These are a code object that begins to run, whether that was told, and its globals.
    pub(crate) unsafe fn mentions(
        &mut self,
        code: Object,
        is_told: bool,
        globals: Object,
        api: &super::Api,
    ) -> [u32; 2] {
        let begin = short(self.mentions.len());
        // SAFETY: the caller's promise; the bytes are ours until they are released.
        unsafe {
            for at in WORDS {
                let words = word(code, at) as Object;
                for each in 0..word(words, LENGTH) {
                    self.mention(word(words, ITEMS + 8 * each));
                }
            }
            let used = Used { names: word(code, NAMES) as Object, globals, api };
            let words = self.mentions.len();
            let running = code.byte_add(api.calls.running).cast();
            if !self.mention_used(running, word(code, LENGTH), &used) {
                // Somebody watches single instructions: the interpreter knows the original ones.
                self.mentions.truncate(words);
                let Some(code_bytes) = api.calls.code_bytes else { return [begin; 2] };
                let bytes = code_bytes(code);
                if !bytes.is_null() {
                    let compiled = bytes.byte_add(BYTES).cast();
                    self.mention_used(compiled, word(bytes, LENGTH) / 2, &used);
                    (api.release)(bytes);
                }
            } else if is_told && !api.calls.pairs.is_null() {
                self.restore_pairs(running, word(code, LENGTH), &*api.calls.pairs);
            }
        }
        [begin, short(self.mentions.len())]
    }

    fn mention(&mut self, name: usize) {
        let (at, bit) = hint(name);
        if self.hints[at] & bit != 0
            && let Some(name) = self.names.get(name)
        {
            self.mentions.push(short(name));
        }
    }

    /// Collects what instructions use: names of attributes, values of global variables, and what
    /// statements call implicitly. False if an instruction is unknown.
    ///
    /// # Safety
    ///
    /// These are the instructions of a code, and what belongs to it.
    unsafe fn mention_used(&mut self, first: *const [u8; 2], n: usize, used: &Used<'_>) -> bool {
        let (mut at, mut high, mut seen) = (0, 0, 0_u64);
        // SAFETY: the caller's promise; an instruction names what is there.
        unsafe {
            while at < n {
                let [instruction, low] = *first.add(at);
                let known = self.instructions[usize::from(instruction)];
                if known.n_places == 0 {
                    return false;
                }
                at += usize::from(known.n_places);
                let argument = high | usize::from(low);
                let name = |shift: usize| word(used.names, ITEMS + 8 * (argument >> shift));
                high = 0;
                match known.what {
                    Use::Nothing => {}
                    Use::Extends => high = argument << 8,
                    Use::Attribute(shift) => self.mention(name(shift)),
                    Use::Global(shift) => {
                        // Most are used more than once.
                        let at = argument >> shift;
                        let bit = if at < 64 { 1_u64 << at } else { 0 };
                        if seen & bit == 0 {
                            seen |= bit;
                            self.mention_global(used.globals, name(shift) as Object, used.api);
                        }
                    }
                    Use::Unseen(0) => self.mention(used.api.calls.unseen[0][0]),
                    Use::Unseen(_) => self.mention(used.api.calls.unseen[1][0]),
                }
            }
        }
        true
    }

    /// Makes two instructions run as one again. The interpreter joins them when it makes the code,
    /// splits them when events of it are first requested, and never joins them again, which is
    /// slower.
    ///
    /// # Safety
    ///
    /// These are instructions of a code, all of them known.
    unsafe fn restore_pairs(&self, first: *mut [u8; 2], n: usize, pairs: &[[u8; 3]; N_PAIRS]) {
        let (mut at, mut before) = (0, 0);
        // SAFETY: the caller's promise. Both instructions are left in place, so jumps to the second
        // one still work.
        unsafe {
            while at < n {
                let [instruction, _] = *first.add(at);
                let known = self.instructions[usize::from(instruction)];
                if known.is_paired && before != 0 {
                    for &[one, then, both] in pairs {
                        if before == one && known.compiled == then {
                            (*first.add(at - 1))[0] = both;
                        }
                    }
                }
                let is_first = known.is_paired && known.compiled == instruction;
                before = if is_first { instruction } else { 0 };
                at += usize::from(known.n_places);
            }
        }
    }

    /// # Safety
    ///
    /// As above.
    unsafe fn mention_global(&mut self, globals: Object, name: Object, api: &super::Api) {
        // SAFETY: as above.
        unsafe {
            let Some(item) = api.calls.dict_item else { return };
            let value = item(globals, name);
            if value.is_null() {
                self.mention(name as usize);
            } else if super::is_bound(value, api)
                && let Some(at) = self.by_definition.get(super::definition_of(value, api))
            {
                self.mentions.push(FUNCTION_AFTER | short(at));
            }
        }
    }

    /// Code with these mentions has run in this test.
    pub(crate) fn ran(&mut self, [begin, end]: [u32; 2], test: u32) {
        for &mention in &self.mentions[begin as usize..end as usize] {
            if mention & FUNCTION_AFTER == 0 {
                self.tests[mention as usize] = test;
            } else {
                self.functions[(mention & !FUNCTION_AFTER) as usize].test = test;
            }
        }
    }

    /// Forgets the calls made so far.
    ///
    /// # Safety
    ///
    /// What we were told about the functions is true.
    pub(crate) unsafe fn forget(&mut self, api: &super::Api) {
        // SAFETY: the caller's promise; each byte is written by a single instruction, whoever
        // writes it.
        unsafe {
            self.take_first(api);
            std::ptr::write_bytes((&raw mut USED_CALLED).cast::<u8>(), 0, self.used.len());
        }
    }

    /// Remembers the calls made so far.
    ///
    /// # Safety
    ///
    /// As above.
    pub(crate) unsafe fn take(&mut self, api: &super::Api) {
        // SAFETY: the caller's promise.
        unsafe { self.take_first(api) };
        let called = (&raw const USED_CALLED).cast::<u64>();
        for at in 0..self.used.len().div_ceil(8) {
            // SAFETY: each byte is written by a single instruction; their number is a multiple of
            // eight.
            let mut eight = unsafe { *called.add(at) };
            while eight != 0 {
                let byte = (eight.trailing_zeros() / 8) as usize;
                eight &= !(0xFF << (8 * byte));
                self.called.push(self.used[8 * at + byte]);
            }
        }
    }

    /// Remembers the calls made so far of functions without a stub in use, and gives them one.
    ///
    /// # Safety
    ///
    /// As above.
    unsafe fn take_first(&mut self, api: &super::Api) {
        self.called.clear();
        // SAFETY: the caller's promise; as many bytes are there as functions.
        unsafe {
            if std::ptr::replace(&raw mut IS_ANY_CALLED, 0) == 0 {
                return;
            }
            let called = (&raw mut CALLED).cast::<u8>();
            for at in 0..self.functions.len() {
                if std::ptr::replace(called.add(at), 0) == 0 {
                    continue;
                }
                self.begin_use(at, api);
                match self.functions[at].used {
                    NONE => self.called.push(short(at)),
                    used => *(&raw mut USED_CALLED).cast::<u8>().add(used as usize) = 1,
                }
            }
        }
    }

    /// Gives a function that was called a stub next to those in use, if there is room.
    ///
    /// # Safety
    ///
    /// As above.
    unsafe fn begin_use(&mut self, at: usize, api: &super::Api) {
        // SAFETY: the caller's promise; where a stub leads to is there before the stub is used.
        unsafe {
            let function = &mut self.functions[at];
            let used = self.used.len();
            if function.used != NONE || used == N_USED {
                return;
            }
            function.used = short(used);
            self.used.push(short(at));
            let function = function.shown;
            if is_maker(function, api) {
                return;
            }
            let functions = (&raw const FUNCTIONS).cast::<usize>();
            *(&raw mut USED_FUNCTIONS).cast::<usize>().add(used) = *functions.add(at);
            let place = (key_of(function, api) + FUNCTION) as *mut usize;
            if *place == stub(at) {
                *place = used_stub(used);
            }
        }
    }

    /// Returns a function that code which ran in this test may have called, with its number; last
    /// one first.
    pub(crate) fn pop(&mut self, test: u32) -> Option<(usize, Object, u32)> {
        while let Some(at) = self.called.pop() {
            let function = self.functions[at as usize];
            if function.test == test || self.is_mentioned(function, test) {
                return Some((at as usize, function.shown, function.number));
            }
        }
        None
    }

    fn is_mentioned(&self, function: Function, test: u32) -> bool {
        let mut alias = function.name;
        while alias != NONE {
            let known = self.aliases[alias as usize];
            if self.tests[known.name as usize] == test {
                return true;
            }
            alias = known.before;
        }
        false
    }

    pub(crate) fn set_number(&mut self, at: usize, number: u32) {
        self.functions[at].number = number;
    }
}

/// What the instructions of a code object refer to.
struct Used<'a> {
    names: Object,
    globals: Object,
    api: &'a super::Api,
}

/// The word and the bit that hint at a name with this address.
fn hint(address: usize) -> (usize, u64) {
    let mixed = (address >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    (mixed / 64 % N_HINTS, 1 << (mixed % 64))
}

/// The address by which a function is known.
///
/// # Safety
///
/// It is a function in C.
unsafe fn key_of(function: Object, api: &super::Api) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        if super::is_bound(function, api) {
            super::definition_of(function, api)
        } else {
            word(function, super::DESCRIBED)
        }
    }
}

/// Whether it is the maker of a type.
///
/// # Safety
///
/// It is a function in C.
unsafe fn is_maker(function: Object, api: &super::Api) -> bool {
    // SAFETY: the caller's promise.
    unsafe { super::is_bound(function, api) && word(function, super::DEFINITION) == api.new }
}

/// Called in place of the maker of a type.
unsafe extern "C" fn make(maker: Object, args: *const Object, n: usize, named: Object) -> Object {
    // SAFETY: the interpreter calls as it does any object, with its lock held.
    unsafe {
        let api = super::state().api;
        if let Some(at) = super::calls().by_definition.get(word(maker, super::BOUND_TO)) {
            let used = super::calls().functions[at].used;
            if used == NONE {
                IS_ANY_CALLED = 1;
                *(&raw mut CALLED).cast::<u8>().add(at) = 1;
            } else {
                *(&raw mut USED_CALLED).cast::<u8>().add(used as usize) = 1;
            }
        }
        let Some(make_call) = api.calls.make_call else { return null_mut() };
        let n = (n & !OFFSET_FLAG).cast_signed();
        make_call((api.this_thread)(), maker, args, n, named)
    }
}

/// Whether there are stubs for this processor.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tracer_has_stubs() -> c_int {
    c_int::from(cfg!(target_arch = "x86_64"))
}
