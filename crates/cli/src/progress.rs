//! How it goes, on standard error: on one line of the terminal that is written again and again, or
//! where there is none, on a line every half a minute. Tests that are suspected or found are told
//! of at once, one line each.
//!
//! What to write is decided by the [`Board`], which is told the time; here it is asked, also by a
//! thread of its own, so that a run that takes long does not look like one that hangs.

mod board;
mod estimate;

use std::io::{self, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use unflake_campaign::logbook::{News, Progress, Standing};
use unflake_model::{Confidence, TestId};

use crate::screen::{Screen, can_rewrite};
use board::{Board, Manner};

/// How often it is looked whether there is something to write.
const TICK: Duration = Duration::from_secs(1);

/// Until when it goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Goal {
    /// How many whole orders are wanted.
    pub(crate) orders: Option<u64>,
    /// How sure they make.
    pub(crate) confidence: Option<Confidence>,
    /// How long it may take.
    pub(crate) time: Option<Duration>,
}

/// Progress on standard error.
pub(crate) struct Line {
    board: Arc<Mutex<Board>>,
    begun: Instant,
    /// Ends, by being dropped, who looks at the clock.
    ticking: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Line {
    pub(crate) fn new(goal: Goal, screen: Screen) -> Self {
        let manner = match (screen.is_quiet(), can_rewrite(&io::stderr())) {
            (true, _) => Manner::Quiet,
            (false, true) => Manner::Rewritten,
            (false, false) => Manner::Lines,
        };
        let board = Arc::new(Mutex::new(Board::new(goal, manner, screen.notes())));
        let begun = now();
        let ticking = (manner != Manner::Quiet).then(|| tick(Arc::clone(&board), begun));
        Self { board, begun, ticking }
    }

    fn write(&self, text: impl FnOnce(&mut Board, Duration) -> Option<String>) {
        let mut board = locked(&self.board);
        // Written before anybody else may: two lines at once would mix.
        write(text(&mut board, self.begun.elapsed()));
    }
}

/// Looks at the clock until nobody wants to know any more.
fn tick(board: Arc<Mutex<Board>>, begun: Instant) -> (Sender<()>, JoinHandle<()>) {
    let (end, ended) = mpsc::channel();
    let handle = std::thread::spawn(move || {
        while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            let mut board = locked(&board);
            write(board.tick(begun.elapsed()));
        }
    });
    (end, handle)
}

fn locked(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// If nobody listens, there is nobody to tell.
fn write(text: Option<String>) {
    if let Some(text) = text {
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

impl Drop for Line {
    /// What was waited for is there.
    fn drop(&mut self) {
        if let Some((end, handle)) = self.ticking.take() {
            drop(end);
            let _ = handle.join();
        }
        self.write(|board, _| board.end());
    }
}

impl Progress for Line {
    fn stage(&mut self, what: &str) {
        self.write(|board, now| board.stage(what, now));
    }

    fn note(&mut self, what: &str) {
        self.write(|board, _| board.note(what));
    }

    fn ran(&mut self, standing: Standing) {
        self.write(|board, now| board.ran(standing, now));
    }

    fn news(&mut self, test: &TestId, news: News) {
        self.write(|board, _| board.news(test, news));
    }
}

#[expect(clippy::disallowed_methods, reason = "how long it takes is shown, and decides nothing")]
fn now() -> Instant {
    Instant::now()
}
