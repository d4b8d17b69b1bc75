//! How does a process say which functions its tests call?
//!
//! Its classes are changed when they are loaded, by a Java agent (`-javaagent`) of ours: where a
//! method begins, and before each call of one of Java's own, stands a call that notes it. ASM
//! changes them, because shifting code by hand (jumps, frames, tables) is what it is for; its jar
//! comes out of the project's repositories, and has a class loader of its own in the process.
//!
//! A process that does not trace has nothing of it. `docs/design/java.md` has what was considered.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_engine::Interrupt;
use unflake_engine::process::{CommandLine, run_to_end};

use crate::agent::{self, AgentError, key};
use crate::fetch::{FetchError, complaint, fetch};
use crate::jars::ASM;
use crate::made_once::make_once;
use crate::project::Project;

/// The jar that Java is given: what it begins with, and what changed classes call.
const TRACE: &str = "trace.jar";
/// The folder of what changes classes.
const INSTRUMENTER: &str = "instrumenter";
const MANIFEST: &str = "manifest";
/// What changed classes call is found by every class loader if it is among Java's own.
const MANIFEST_TEXT: &str =
    "Premain-Class: unflake.agent.trace.Premain\nBoot-Class-Path: trace.jar\n";

/// To put three files into one.
const PACK_TIME_MAX: Duration = Duration::from_mins(1);

/// What traces, ready for one Java.
#[derive(Clone, Debug)]
pub struct Tracing {
    /// Where it is kept.
    folder: PathBuf,
}

/// Why functions cannot be traced.
#[derive(Debug, thiserror::Error)]
pub enum TracingError {
    /// What changes classes is not to be had.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// What traces cannot be compiled.
    #[error(transparent)]
    Compile(#[from] AgentError),
    /// It cannot be put into a jar.
    #[error("the agent that traces cannot be put into a jar: {0}")]
    Pack(String),
    /// Its folder cannot be written.
    #[error("cannot write to `{}`", .0.display())]
    Folder(PathBuf, #[source] io::Error),
}

impl Tracing {
    /// The one for the Java of a project: that in the cache, or a new one.
    pub fn find(
        project: &Project,
        cache: &Path,
        interrupt: &Interrupt,
    ) -> Result<Self, TracingError> {
        let home = project.jdk.home.to_string_lossy();
        let words = [ASM.version, MANIFEST_TEXT, &project.jdk.version, &home];
        let sources = agent::BOOT.iter().chain(agent::INSTRUMENTER).flat_map(|it| [it.0, it.1]);
        let folder = cache.join("trace").join(key(words.into_iter().chain(sources)));
        let fail = |error| TracingError::Folder(folder.clone(), error);
        make_once(&folder, fail, |new| make(project, new, interrupt))?;
        Ok(Self { folder })
    }

    /// What Java is given besides.
    pub fn flags(&self) -> Vec<OsString> {
        let folder = self.folder.display();
        let path = format!("{folder}/{INSTRUMENTER}/:{folder}/{}", ASM.file());
        vec![format!("-javaagent:{folder}/{TRACE}={path}").into()]
    }
}

fn make(project: &Project, folder: &Path, interrupt: &Interrupt) -> Result<(), TracingError> {
    let fail = |error| TracingError::Folder(folder.to_owned(), error);
    fetch(&ASM, &project.tool, folder, interrupt)?;
    let (boot, instrumenter) = (folder.join("boot"), folder.join(INSTRUMENTER));
    agent::compile(&project.jdk, agent::BOOT, &[], (folder, &boot), interrupt)?;
    let path = [folder.join(ASM.file()), boot].map(|it| it.display().to_string());
    agent::compile(&project.jdk, agent::INSTRUMENTER, &path, (folder, &instrumenter), interrupt)?;
    fs::write(folder.join(MANIFEST), MANIFEST_TEXT).map_err(fail)?;
    let line = CommandLine {
        program: project.jdk.program("jar"),
        arguments: ["cfm", TRACE, MANIFEST, "-C", "boot", "unflake"].map(OsString::from).into(),
        current_dir: folder.to_owned(),
        env: Vec::new(),
    };
    let done = run_to_end(&line, PACK_TIME_MAX, interrupt);
    let done = done.map_err(|error| TracingError::Pack(error.to_string()))?;
    if done.exit.code != Some(0) {
        return Err(TracingError::Pack(complaint(&done)));
    }
    Ok(())
}
