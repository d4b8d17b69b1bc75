//! Processes that another one leaves behind are ended with it, even if they have their own session.
//!
//! There is only one test in this program, because it becomes the parent of all orphans below it.

#![expect(clippy::unwrap_used, reason = "what cannot be read is a fault")]

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use unflake_engine::process::{CommandLine, run_to_end};
use unflake_engine::{Interrupt, strays};

/// Starts a process in a new session, whose parent ends at once. It holds the pipe open longer than
/// any test takes, and says when it is there.
const LEAVES: &str = "(setsid sh -c 'echo here; exec sleep 600' > \"$1\" &)";

fn sh(script: &str, pipe: &Path, tmp: &str) -> CommandLine {
    CommandLine {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into(), "sh".into(), pipe.into()],
        current_dir: "/".into(),
        env: vec![("TMPDIR".into(), Some(tmp.into()))],
    }
}

/// A pipe whose end is read once every process that holds it open is gone.
fn pipe(path: &Path) -> (File, File) {
    let made = run_to_end(&sh("mkfifo \"$1\"", path, "/tmp"), AMPLE, &Interrupt::default());
    assert_eq!(made.unwrap().exit.code, Some(0));
    let both = OpenOptions::new().read(true).write(true).open(path).unwrap();
    (both, File::open(path).unwrap())
}

const AMPLE: Duration = Duration::from_mins(5);

#[test]
fn it_is_ended_with_who_left_it_and_no_other() {
    strays::adopt();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let (both, mut reader) = pipe(&path);
    let mut heard = String::new();

    // With nothing else under way.
    let script = format!("{LEAVES}\nread word < \"$1\"");
    run_to_end(&sh(&script, &path, "/tmp/a"), AMPLE, &Interrupt::default()).unwrap();
    drop(both);
    assert_eq!(reader.read_to_string(&mut heard).unwrap(), 0, "its word was read by its parent");

    // While another command is under way that has left a stray, too.
    let there = folder.path().join("there");
    let (both, mut others) = pipe(&there);
    let interrupt = Interrupt::default();
    let (stop, line) = (interrupt.clone(), sh(&format!("{LEAVES}\nsleep 600"), &there, "/tmp/b"));
    let other = std::thread::spawn(move || run_to_end(&line, AMPLE, &stop).unwrap());
    let mut word = [0; 5];
    others.read_exact(&mut word).unwrap();
    drop(both);
    let both = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    run_to_end(&sh(&script, &path, "/tmp/a"), AMPLE, &Interrupt::default()).unwrap();
    drop(both);
    assert_eq!(reader.read_to_string(&mut heard).unwrap(), 0);
    rustix::io::ioctl_fionbio(&others, true).unwrap();
    let nothing = others.read(&mut word).map_err(|error| error.kind());
    assert_eq!(nothing, Err(std::io::ErrorKind::WouldBlock), "the other's goes on");
    rustix::io::ioctl_fionbio(&others, false).unwrap();

    interrupt.raise();
    other.join().unwrap();
    strays::end_all();
    assert_eq!(others.read(&mut word).unwrap(), 0, "and ends with it");
}
