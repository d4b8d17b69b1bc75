//! Where is the project, and with what is it built?

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Where to look, and with what.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The folder of the project.
    pub folder: PathBuf,
    /// What the build tool is always given, such as `-Pprofile`.
    pub options: Vec<OsString>,
    /// Where what is made once is kept: ours alone, outside of the project.
    pub cache: PathBuf,
    /// How long the build may take.
    pub build_time_max: Duration,
}
