//! The library that notes, inside a Python process, which functions a test calls.
//!
//! The agent loads it with `ctypes` in traced runs (`agents/python/unflake_agent/trace`). Why it is
//! native code, and what it would cost in Python, is explained in `docs/tracing.md`.
//!
//! Its sources are the module `library`. They are compiled twice: as part of this crate, so that
//! lints, tests and documentation cover them, and by `build.rs` into the shared library that
//! [`LIBRARY`] contains. Nothing calls the former; it is not linked into the binary.

/// The shared library, to be written to a file that Python loads. Empty if it could not be built
/// (not Linux, or no linker available): the agent then traces without it, more slowly.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tracer.so"));

#[cfg(target_os = "linux")]
mod library;

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::LIBRARY;

    /// A failing build script only warns, so that unflake can be built anywhere.
    #[test]
    fn the_library_was_built() {
        assert!(LIBRARY.starts_with(b"\x7fELF"));
    }
}
