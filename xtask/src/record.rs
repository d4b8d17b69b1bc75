//! `cargo xtask record`: what a newcomer sees, as text, from the real program on the example
//! project in a terminal with 80 columns. Written to `docs/tour.md`.

mod screen;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::{python, root};
use screen::Screen;

const COLUMNS: u16 = 80;

const INTRODUCTION: &str = "\
# A tour

What a newcomer sees: the commands `detect`, `why`, `fix` and `shake` on \
[the example](../examples/shop), in a terminal of 80 columns, with colours left out. Made from the \
real program by `cargo xtask record`; times and numbers are as they were. Lines longer than the \
terminal are wrapped by it.
";

/// A command of the tour.
struct Stop {
    title: &'static str,
    words: &'static str,
    arguments: &'static [&'static str],
}

const STOPS: [Stop; 4] = [
    Stop {
        title: "Which tests are flaky?",
        words: "Suspects and findings are told as they come, one line each; the report follows.",
        arguments: &["detect"],
    },
    Stop {
        title: "What about this one?",
        words: "",
        arguments: &["why", "tests/test_cart.py::test_total_is_rounded_to_cents"],
    },
    Stop {
        title: "Can it be repaired?",
        words: "The change itself is all that goes to standard output, so that it can be piped \
                into `git apply`.",
        arguments: &["fix", "tests/test_amounts.py::test_price_is_shown_in_euro"],
    },
    Stop {
        title: "What makes this one fail at random?",
        words: "",
        arguments: &["shake", "tests/test_shipping.py::test_parcel_arrives_within_three_days"],
    },
];

pub(crate) fn run() -> Result<(), String> {
    let root = root();
    let python = python::interpreter(root)?;
    let program = built(root)?;
    let place = Place::new(root, &program, &python)?;
    let mut tour = INTRODUCTION.to_owned();
    for stop in STOPS {
        println!("\n==> unflake {}", stop.arguments.join(" "));
        let screen = place.record(stop.arguments)?;
        tour += &told(&stop, &screen);
    }
    let file = root.join("docs/tour.md");
    fs::write(&file, tour).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    println!("\nwrote {}", file.display());
    Ok(())
}

fn told(stop: &Stop, screen: &Screen) -> String {
    let words = if stop.words.is_empty() { String::new() } else { format!("{}\n\n", stop.words) };
    let command = stop.arguments.join(" ");
    let text = screen.text();
    let told = format!("\n## {}\n\n{words}```\n$ unflake {command}\n{text}```\n", stop.title);
    let lines = screen.passing().join("\n");
    if lines.is_empty() {
        return told;
    }
    let while_it_ran = "While it ran, the last line read, among others:";
    format!("{told}\n{while_it_ran}\n\n```\n{lines}\n```\n")
}

/// Builds the program.
#[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
fn built(root: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command.args(["build", "--package", "unflake"]).current_dir(root);
    match command.status() {
        Ok(status) if status.success() => Ok(python::target(root).join("debug/unflake")),
        other => Err(format!("`cargo build` failed: {other:?}")),
    }
}

/// A copy of the example, with its own history.
struct Place<'a> {
    folder: PathBuf,
    program: &'a Path,
    python: &'a Path,
}

impl<'a> Place<'a> {
    #[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
    fn new(root: &Path, program: &'a Path, python: &'a Path) -> Result<Self, String> {
        let folder = python::target(root).join("record");
        let failed = |error: io::Error| format!("cannot copy the example: {error}");
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => (),
        }
        let shop = folder.join("shop");
        copy(&root.join("examples/shop"), &shop).map_err(failed)?;
        // Otherwise it would count as part of our own repository, and changes would be named from
        // there.
        let status = Command::new("git").args(["init", "--quiet"]).current_dir(&shop).status();
        if status.map_err(failed)?.success() {
            Ok(Self { folder, program, python })
        } else {
            Err("the copy cannot be made a repository".to_owned())
        }
    }

    /// Runs a command in a terminal, and returns the screen when it ends.
    #[expect(clippy::disallowed_methods, reason = "a chore starts programs")]
    fn record(&self, arguments: &[&str]) -> Result<Screen, String> {
        let failed = |error: io::Error| format!("no terminal can be had: {error}");
        let (ours, theirs) = terminal().map_err(failed)?;
        let mut command = Command::new(self.program);
        command.args(arguments).current_dir(self.folder.join("shop"));
        for name in ["COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "UNFLAKE_STORE"] {
            command.env_remove(name);
        }
        let environment = self.python.parent().and_then(Path::parent).unwrap_or(self.python);
        command.env("TERM", "xterm").env("VIRTUAL_ENV", environment);
        command.env("XDG_STATE_HOME", self.folder.join("state"));
        for stream in [Command::stdin, Command::stdout, Command::stderr] {
            stream(&mut command, Stdio::from(theirs.try_clone().map_err(failed)?));
        }
        let mut child = command.spawn().map_err(|error| format!("it does not start: {error}"))?;
        // Their side must not stay open here, or reading from ours would never end.
        drop((command, theirs));
        let mut screen = Screen::new(usize::from(COLUMNS));
        let mut ours = File::from(ours);
        let mut bytes = [0; 4096];
        // Once the last copy of their side is closed, reading fails.
        while let Ok(n) = ours.read(&mut bytes) {
            if n == 0 {
                break;
            }
            screen.write(&bytes[..n]);
        }
        child.wait().map_err(|error| format!("it does not end: {error}"))?;
        Ok(screen)
    }
}

/// Both sides of a terminal.
fn terminal() -> io::Result<(std::os::fd::OwnedFd, File)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name, flags, Mode::empty())?;
    let size = Winsize { ws_row: 40, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, size)?;
    Ok((ours, File::from(theirs)))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, target) = (entry.file_name(), to.join(entry.file_name()));
        let is_made = name == "__pycache__" || name == ".pytest_cache";
        if entry.file_type()?.is_dir() && !is_made {
            copy(&entry.path(), &target)?;
        } else if !is_made {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
