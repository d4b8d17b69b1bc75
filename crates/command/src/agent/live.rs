//! One run, as the server sees it: a cell for each of its commands, and what is to be said of them.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unflake_engine::process::Exit;
use unflake_wire::{End, Ended, FromAgent, Level, Phase, Refused, Run, frame};

use super::cell::Request;
use super::follow::Follower;
use super::output::bounded;
use super::plan::{Slot, plan};
use super::serve::Shared;
use super::watch::{Closed, Heard, Watch};
use crate::judge::{Judgement, Rest, Seen, Void, judge};
use crate::names;
use crate::report::{self, Case, Report};
use crate::settings::{Format, Place};
use crate::template::Filling;

/// The largest report that is read.
const REPORT_BYTES_MAX: u64 = 512 << 20;
/// How many lines of what a command wrote are told with what is wrong.
const LINES_MAX: usize = 20;

/// How the last command of a run left, with what it wrote last.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) exit: Exit,
    pub(super) stderr: String,
}

/// The engine has given the run up.
#[derive(Debug)]
pub(super) struct Gone;

/// A run under way.
pub(super) struct Live<'a> {
    run: &'a Run,
    shared: &'a Shared,
    engine: UnixStream,
    /// Tells the server whose group is to be ended with the run.
    forked: &'a dyn Fn(u32),
    is_isolation_told: bool,
    /// The attempts that the engine knows to have begun.
    started: Vec<(usize, usize)>,
}

/// What became of one command.
enum Came {
    /// To its end, and the next may follow.
    Through(Left),
    /// The run is over with it.
    Over(Left),
}

impl<'a> Live<'a> {
    pub(super) fn new(
        run: &'a Run,
        shared: &'a Shared,
        engine: UnixStream,
        forked: &'a dyn Fn(u32),
    ) -> Self {
        Self { run, shared, engine, forked, is_isolation_told: false, started: Vec::new() }
    }

    /// The whole run; how its last command left.
    pub(super) fn live(mut self) -> Result<Left, Gone> {
        let stretches = match plan(self.run, &self.shared.settings, &self.shared.tests) {
            Ok(stretches) => stretches,
            Err(void) => {
                self.say(&FromAgent::Failed { what: void.what, text: void.hint })?;
                return Ok(broken());
            }
        };
        let mut last = None;
        for (number, slots) in stretches.iter().enumerate() {
            match self.stretch(number, slots)? {
                Came::Through(left) => last = Some(left),
                Came::Over(left) => return Ok(left),
            }
        }
        self.say(&FromAgent::Done { in_part: false, chosen: None })?;
        Ok(last.unwrap_or_else(broken))
    }

    fn say(&mut self, message: &FromAgent) -> Result<(), Gone> {
        frame::write(&mut self.engine, message).map_err(|_| Gone)
    }

    fn fail(&mut self, void: Void, written: &str, left: Left) -> Result<Came, Gone> {
        let lines: Vec<&str> = written.lines().collect();
        let end = lines[lines.len().saturating_sub(LINES_MAX)..].join("\n");
        // The hint comes last: where there is room for one line only, it is that.
        let text = format!("{end}\n{}", void.hint);
        self.say(&FromAgent::Failed { what: void.what, text: bounded(text.trim_start()) })?;
        Ok(Came::Over(left))
    }

    /// One command, or one for each test, in a place of its own.
    fn stretch(&mut self, number: usize, slots: &[Slot]) -> Result<Came, Gone> {
        let folder = Path::new(&self.run.scratch).join(format!("command-{number}"));
        let files = Files::new(folder, self.shared.settings.report);
        let request = match self.request(&files, slots) {
            Ok(request) => request,
            Err(error) => {
                let what = format!("cannot prepare a run in `{}`: {error}", files.folder.display());
                let hint = "is there room for temporary files?".to_owned();
                return self.fail(Void { what, hint }, "", broken());
            }
        };
        let ids: Vec<&str> =
            slots.iter().map(|slot| self.shared.tests[slot.test].as_str()).collect();
        let mut watch = Watch::new(self.shared, (slots, &ids), &files);
        let closed = loop {
            match self.attend(&mut watch, request.clone(), slots)? {
                Closed::NoPid { why } => self.shared.refuse_pid(why),
                closed => break closed,
            }
        };
        let left = Left { exit: watch.exit, stderr: watch.stderr.take_tail() };
        let written = [watch.stdout.take_tail().as_str(), left.stderr.as_str()].join("\n");
        let hint = |hint: &str| hint.to_owned();
        match closed {
            Closed::Through if slots.is_empty() => Ok(Came::Through(left)),
            Closed::Through if self.shared.settings.report == Format::Exit => {
                self.tell_the_rest(slots)?;
                Ok(Came::Through(left))
            }
            Closed::Through => self.judge(&watch, (slots, &ids), &files, (left, written)),
            Closed::Fault { what } => {
                let hint = hint("is the first word of `run` and `reset` the program?");
                self.fail(Void { what, hint }, &written, broken())
            }
            Closed::NotReset { exit } => {
                let what = format!("`reset` of the runner did not succeed: {exit}");
                let hint = hint("it must leave with 0");
                self.fail(Void { what, hint }, &written, left)
            }
            // Ended from outside, or by a test: the engine knows which was under way.
            Closed::Lost | Closed::NoPid { .. } => {
                self.tell_known(&watch, (slots, &ids), &files)?;
                Ok(Came::Over(left))
            }
        }
    }

    /// What the cell is to do, with all files that it needs.
    fn request(&self, files: &Files, slots: &[Slot]) -> io::Result<Request> {
        let settings = &self.shared.settings;
        fs::create_dir(&files.folder)?;
        fs::create_dir(files.temporary())?;
        let ids: Vec<&str> =
            slots.iter().map(|slot| self.shared.tests[slot.test].as_str()).collect();
        let fill = |(number, tests): (usize, &[&str])| {
            let list = files.list(number);
            if settings.run.needs_list() {
                fs::write(&list, tests.join("\n") + "\n")?;
            }
            let words = settings.run.fill(Filling { tests, list: &list, report: &files.report });
            let text = |word: std::ffi::OsString| {
                word.into_string().map_err(|_| io::Error::other("a path is not UTF-8"))
            };
            words.into_iter().map(text).collect::<io::Result<Vec<String>>>()
        };
        let chunk = if settings.report == Format::Exit { 1 } else { ids.len().max(1) };
        let commands = ids.chunks(chunk).enumerate().map(fill).collect::<io::Result<_>>()?;
        let report = match &settings.place {
            Place::File(file) => Some((PathBuf::from(file), files.report.clone())),
            Place::Told | Place::Stdout => None,
        };
        Ok(Request {
            levels: self.run.isolation.clone(),
            scratch: files.folder.clone(),
            reset: settings.row.reset.clone(),
            commands,
            report,
            stdout: None,
        })
    }

    /// Starts a cell and stays with it until it has done its work or is gone.
    fn attend(
        &mut self,
        watch: &mut Watch<'_>,
        mut request: Request,
        slots: &[Slot],
    ) -> Result<Closed, Gone> {
        let no_pid = self.shared.pid_refused();
        if no_pid.is_some() {
            request.levels.retain(|level| *level != Level::Pid);
        }
        let pid = match watch.begin(&request) {
            Ok(pid) => pid,
            Err(error) => {
                return Ok(Closed::Fault { what: format!("cannot start a run: {error}") });
            }
        };
        (self.forked)(pid);
        let is_pid_wanted = self.run.isolation.contains(&Level::Pid);
        loop {
            match watch.next() {
                Heard::Isolated { applied, mut refused } => {
                    if !std::mem::replace(&mut self.is_isolation_told, true) {
                        let why = no_pid.clone().filter(|_| is_pid_wanted);
                        refused.extend(why.map(|why| Refused { level: Level::Pid, why }));
                        self.say(&FromAgent::Isolated { applied, refused })?;
                    }
                }
                Heard::Started(place) => self.start(slots[place])?,
                Heard::Alive => self.say(&FromAgent::Alive {})?,
                Heard::Ended(place, case) => {
                    self.start(slots[place])?;
                    self.end(slots[place], &case)?;
                }
                Heard::Closed(closed) => return Ok(closed),
            }
        }
    }

    fn start(&mut self, slot: Slot) -> Result<(), Gone> {
        let (position, attempt) = (slot.position, slot.attempt);
        if self.started.contains(&(position, attempt)) {
            return Ok(());
        }
        self.started.push((position, attempt));
        self.say(&FromAgent::Start { position, attempt })
    }

    fn end(&mut self, slot: Slot, case: &Case) -> Result<(), Gone> {
        let is_brief = self.run.brief.contains(&slot.test);
        let told = |text: &str| (!text.is_empty()).then(|| bounded(text));
        let said = |text: &str| told(text).filter(|_| !case.is_fine());
        let (position, attempt) = (slot.position, slot.attempt);
        self.say(&FromAgent::End(End {
            position,
            attempt,
            outcome: case.outcome,
            phase: Phase::Call,
            seconds: case.duration.unwrap_or_default().as_secs_f64(),
            message: told(&case.message).or_else(|| (!case.is_fine()).then(|| "failed".to_owned())),
            text: said(&case.text).filter(|_| !is_brief),
            stdout: said(&case.stdout).filter(|_| !is_brief),
            stderr: said(&case.stderr).filter(|_| !is_brief),
            changes: Vec::new(),
            more: 0,
        }))
    }

    /// Second attempts that the runner cannot make.
    fn tell_the_rest(&mut self, slots: &[Slot]) -> Result<(), Gone> {
        if !self.run.twice || self.shared.settings.row.repeats {
            return Ok(());
        }
        for slot in slots {
            let again = Slot { attempt: 1, ..*slot };
            let mut case = Case::unsaid(Ended::Skipped);
            "it cannot be repeated faithfully".clone_into(&mut case.message);
            self.start(again)?;
            self.end(again, &case)?;
        }
        Ok(())
    }

    /// Reads the report, and says what there is to say.
    fn judge(
        &mut self,
        watch: &Watch<'_>,
        (slots, ids): (&[Slot], &[&str]),
        files: &Files,
        (left, written): (Left, String),
    ) -> Result<Came, Gone> {
        let settings = &self.shared.settings;
        let (report, no_report) = match self.read(watch, files) {
            Ok(report) => (report, None),
            Err(why) => (Report::default(), Some(why)),
        };
        let started = watch.follower().and_then(Follower::started);
        let seen = Seen { order: ids, exit: left.exit, started, no_report: no_report.as_deref() };
        let (ends, rest) = match judge(seen, &report, settings.id.as_ref()) {
            Judgement::Told { ends, rest } => (ends, rest),
            Judgement::Void(void) => return self.fail(void, &written, left),
        };
        let took: Vec<(usize, Duration)> = ends
            .iter()
            .map(|(place, case)| (slots[*place].test, case.duration.unwrap_or_default()))
            .collect();
        self.shared.learn(watch.took(), &took);
        for (place, case) in &ends {
            self.start(slots[*place])?;
            if slots.len() == 1 && settings.place != Place::Stdout {
                self.end(slots[*place], &with_output(case, &written))?;
            } else {
                self.end(slots[*place], case)?;
            }
        }
        match rest {
            Rest::CrashedAt(place) => {
                self.start(slots[place])?;
                Ok(Came::Over(left))
            }
            Rest::NotRun if ends.len() == slots.len() => {
                self.tell_the_rest(slots)?;
                Ok(Came::Through(left))
            }
            Rest::NotRun => {
                self.say(&FromAgent::Done { in_part: false, chosen: None })?;
                Ok(Came::Over(left))
            }
        }
    }

    /// What was reported before the command was ended from outside.
    fn tell_known(
        &mut self,
        watch: &Watch<'_>,
        (slots, ids): (&[Slot], &[&str]),
        files: &Files,
    ) -> Result<(), Gone> {
        let Ok(report) = self.read(watch, files) else { return Ok(()) };
        let assigned = names::assign(ids, &report.cases, self.shared.settings.id.as_ref());
        for (slot, cases) in slots.iter().zip(assigned) {
            if let [case] = cases.as_slice() {
                self.start(*slot)?;
                self.end(*slot, case)?;
            }
        }
        Ok(())
    }

    fn read(&self, watch: &Watch<'_>, files: &Files) -> Result<Report, String> {
        let settings = &self.shared.settings;
        let texts = match settings.place {
            Place::Stdout => vec![watch.stdout.whole().unwrap_or_default()],
            Place::Told | Place::File(_) => files.read().map_err(|error| error.to_string())?,
        };
        report::read(settings.report, &texts).map_err(|error| format!("it makes no sense: {error}"))
    }
}

/// What the only test of a run wrote is what the command wrote.
fn with_output(case: &Case, written: &str) -> Case {
    let mut case = case.clone();
    if case.stdout.is_empty() && case.stderr.is_empty() {
        written.trim_start_matches('\n').clone_into(&mut case.stdout);
    }
    case
}

fn broken() -> Left {
    Left { exit: Exit { code: Some(1), signal: None }, stderr: String::new() }
}

/// The files of one command.
pub(super) struct Files {
    pub(super) folder: PathBuf,
    report: PathBuf,
}

impl Files {
    fn new(folder: PathBuf, format: Format) -> Self {
        // Some runners look at the ending.
        let name = match format {
            Format::Junit => "report.xml",
            Format::Ctrf => "report.json",
            Format::Tap | Format::Exit => "report.tap",
        };
        Self { report: folder.join(name), folder }
    }

    fn list(&self, number: usize) -> PathBuf {
        self.folder.join(format!("tests-{number}.txt"))
    }

    /// Where tests have their temporary files.
    pub(super) fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    fn read(&self) -> io::Result<Vec<String>> {
        read_report(&self.report)
    }
}

/// The texts of a report: those of a file, or of all files in a folder.
pub(crate) fn read_report(report: &Path) -> io::Result<Vec<String>> {
    let mut files = vec![report.to_owned()];
    if report.is_dir() {
        let entries: Vec<fs::DirEntry> = fs::read_dir(report)?.collect::<io::Result<_>>()?;
        files = entries.iter().map(fs::DirEntry::path).filter(|path| path.is_file()).collect();
        files.sort();
    }
    let mut texts = Vec::new();
    for file in files {
        if REPORT_BYTES_MAX < fs::metadata(&file)?.len() {
            return Err(io::Error::other("it is too large to be read"));
        }
        texts.push(String::from_utf8_lossy(&fs::read(file)?).into_owned());
    }
    Ok(texts)
}
