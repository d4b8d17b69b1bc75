//! A real project of a real adapter, through a real engine.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open, unlink};
use unflake_adapter::{Abilities, Around, Part, PlainRunner};
use unflake_engine::process::{CommandLine, run_to_end};
use unflake_engine::{Engine, Event, Interrupt, Limits};
use unflake_model::{Experiment, RunId, Suite, TestIndex};

use crate::experiments::once;
use crate::fixture::{AMPLE, Apart, PIPE, Ran, Stopped, Subject, Terms, Told};

/// A part of a project, with an engine that runs its tests.
pub struct Live {
    part: Box<dyn Part>,
    not_traced: Option<String>,
    engine: Engine,
    interrupt: Interrupt,
}

impl Live {
    /// Opens a part on these terms.
    pub fn start(part: &dyn Part, terms: &Terms) -> Result<Self, String> {
        let interrupt = Interrupt::default();
        let readied = part.ready(terms.need, &interrupt).map_err(|error| error.to_string())?;
        let part = readied.part;
        let isolation = match &terms.isolation {
            Apart::AsFarAsPossible => part.abilities().isolation.to_vec(),
            Apart::By(levels) => levels.clone(),
        };
        let limits = Limits {
            start: terms.start,
            isolation,
            start_timeout: AMPLE,
            test_timeout: AMPLE,
            run_timeout: None,
            jobs: terms.jobs,
        };
        let engine = Engine::start(part.launch(&limits), &interrupt)
            .map_err(|error| format!("{error}: {}\n{}", error.kind, error.stderr))?;
        Ok(Self { part, not_traced: readied.not_traced, engine, interrupt })
    }

    fn next(&mut self) -> Result<Event, String> {
        self.engine.next_event().map_err(|error| error.to_string())
    }

    /// Starts a run of a test that hangs, and waits until it does.
    fn hang(&mut self, hanging: TestIndex, pipe: &Pipe) -> Result<(), String> {
        let experiment = once(0, [hanging]);
        self.engine.submit(&experiment).map_err(|error| error.to_string())?;
        loop {
            match self.next()? {
                Event::TestStarted { .. } => break,
                Event::Idle => return Err("the test that was to hang has not begun".to_owned()),
                _ => (),
            }
        }
        if pipe.is_written().map_err(|error| error.to_string())? {
            Ok(())
        } else {
            Err(format!("the test that hangs has not written to `{PIPE}`"))
        }
    }

    fn pipe(&self) -> Result<Pipe, String> {
        Pipe::make(&self.part.call().folder).map_err(|error| format!("no pipe: {error}"))
    }
}

impl Subject for Live {
    fn abilities(&self) -> Abilities {
        self.part.abilities()
    }

    fn not_traced(&self) -> Option<&str> {
        self.not_traced.as_deref()
    }

    fn known_ids(&self) -> Option<Vec<String>> {
        let ids = self.part.ids()?;
        Some(ids.into_iter().map(str::to_owned).collect())
    }

    fn suite(&self) -> Suite {
        self.engine.suite(|_| Duration::from_millis(1))
    }

    fn make(&mut self, experiments: &[Experiment]) -> Result<Vec<Ran>, String> {
        for experiment in experiments {
            self.engine.submit(experiment).map_err(|error| error.to_string())?;
        }
        let mut ran = Vec::new();
        let mut told: BTreeMap<RunId, Vec<Told>> = BTreeMap::new();
        let mut perturbed = BTreeMap::new();
        loop {
            match self.next()? {
                Event::TestEnded { run, test, attempt, outcome, failure, .. } => {
                    let failure = failure.unwrap_or_default();
                    told.entry(run).or_default().push(Told { test, attempt, outcome, failure });
                }
                Event::Perturbed { run, perturbed: how } => {
                    perturbed.insert(run, how);
                }
                Event::RunPutBack { run } => {
                    told.remove(&run);
                }
                Event::RunEnded { observation, ending, isolation } => {
                    let run = observation.run;
                    let attempts = observation.attempts.iter();
                    ran.push(Ran {
                        run,
                        attempts: attempts.map(|it| (it.test, it.outcome)).collect(),
                        told: told.remove(&run).unwrap_or_default(),
                        ending,
                        isolation,
                        perturbed: perturbed.remove(&run),
                    });
                }
                Event::Idle => break,
                _ => (),
            }
        }
        let place = |ran: &Ran| experiments.iter().position(|it| it.run == ran.run);
        ran.sort_by_key(place);
        Ok(ran)
    }

    fn limit(&mut self, timeout: Duration) {
        self.engine.set_test_timeout(timeout);
    }

    fn stop(&mut self, hanging: TestIndex) -> Result<Stopped, String> {
        let pipe = self.pipe()?;
        self.hang(hanging, &pipe)?;
        self.interrupt.raise();
        while !matches!(self.next()?, Event::Interrupted) {}
        self.engine.kill_all();
        let is_idle = matches!(self.next()?, Event::Idle);
        let is_gone = pipe.is_closed(AMPLE).map_err(|error| error.to_string())?;
        Ok(Stopped { is_idle, is_gone })
    }

    fn leave(mut self: Box<Self>, hanging: TestIndex) -> Result<bool, String> {
        let pipe = self.pipe()?;
        self.hang(hanging, &pipe)?;
        drop(self);
        pipe.is_closed(AMPLE).map_err(|error| error.to_string())
    }

    fn plain(&self) -> Box<dyn PlainRunner + '_> {
        self.part.plain(Around {
            collected: self.engine.collected(),
            interrupt: &self.interrupt,
            start_time: AMPLE,
            test_timeout: AMPLE,
        })
    }
}

/// A pipe with a name, by which a test shows that it lives: the kernel closes it with its process.
struct Pipe {
    path: PathBuf,
    end: OwnedFd,
}

impl Pipe {
    fn make(folder: &Path) -> io::Result<Self> {
        let path = folder.join(PIPE);
        let line = CommandLine {
            program: "mkfifo".into(),
            arguments: vec![path.clone().into()],
            current_dir: folder.to_owned(),
            env: Vec::new(),
        };
        let finished = run_to_end(&line, AMPLE, &Interrupt::default())?;
        if finished.exit.code != Some(0) {
            return Err(io::Error::other(finished.stderr));
        }
        // Whoever writes waits for a reader, which therefore comes first.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let end = open(&path, flags, Mode::empty())?;
        Ok(Self { path, end })
    }

    /// Waits until a byte comes.
    fn is_written(&self) -> io::Result<bool> {
        let is_there = self.wait(AMPLE)?.contains(PollFlags::IN);
        Ok(is_there && rustix::io::read(&self.end, &mut [0; 1])? == 1)
    }

    /// Waits until nobody holds the other end, at most so long.
    fn is_closed(&self, time_max: Duration) -> io::Result<bool> {
        Ok(self.wait(time_max)?.contains(PollFlags::HUP))
    }

    fn wait(&self, time_max: Duration) -> io::Result<PollFlags> {
        let mut ends = [PollFd::new(&self.end, PollFlags::IN)];
        // A time that does not fit would be waited for without end, which is as good.
        let time_max = Timespec::try_from(time_max).ok();
        poll(&mut ends, time_max.as_ref())?;
        Ok(ends[0].revents())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // One that is left in a temporary folder goes with it.
        let _ = unlink(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write as _;

    #[test]
    fn a_pipe_tells_that_somebody_holds_it_and_that_nobody_does() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = Pipe::make(folder.path()).unwrap();
        let path = folder.path().join(PIPE);
        let mut holder = OpenOptions::new().write(true).open(&path).unwrap();
        holder.write_all(b"x").unwrap();
        assert!(pipe.is_written().unwrap());
        assert!(!pipe.is_closed(Duration::ZERO).unwrap());
        drop(holder);
        assert!(pipe.is_closed(AMPLE).unwrap());
        drop(pipe);
        assert!(!path.exists());
    }
}
