//! Secrets are hidden where something that a test run says comes in, before it is kept or shown.
//!
//! What is hidden is the same for the whole program, and told once, before anything is run: so
//! nobody on the way can forget to pass it on. Deadline then, values that look like secrets are.
//! Where the user wants to see them, they are shown, and hidden in what is kept all the same.

use std::sync::OnceLock;

use unflake_known::{Failure, Findings, State};
use unflake_model::StateChange;
use unflake_model::secret::Secrets;

static SECRETS: OnceLock<(Secrets, bool)> = OnceLock::new();

/// Tells what is hidden, once, and whether it is shown to the user.
pub fn know(secrets: Secrets, is_shown: bool) {
    // Told before, it stays.
    let _ = SECRETS.set((secrets, is_shown));
}

fn secrets() -> &'static (Secrets, bool) {
    SECRETS.get_or_init(Default::default)
}

fn to_show(said: String) -> String {
    let (secrets, is_shown) = secrets();
    if *is_shown { said } else { secrets.text(&said) }
}

/// What a failed attempt said.
pub(crate) fn failure(message: String, text: String) -> Failure {
    Failure { message: to_show(message), text: to_show(text) }
}

/// A change as it is reported.
pub(crate) fn state(change: &StateChange) -> State {
    let mut state = whole(change);
    hide(&mut state);
    state
}

/// A change, to be compared with others: to be hidden before it is reported.
pub(crate) fn whole(change: &StateChange) -> State {
    let StateChange { place, kind, before, after, .. } = change.clone();
    State { place, kind, before, after }
}

/// Hides what is secret in it.
pub(crate) fn hide(state: &mut State) {
    if !secrets().1 {
        hide_to_keep(state);
    }
}

fn hide_to_keep(state: &mut State) {
    for value in [&mut state.before, &mut state.after].into_iter().flatten() {
        *value = secrets().0.value(&state.place, value);
    }
}

/// A text as it is kept.
pub(crate) fn to_keep(said: &str) -> String {
    secrets().0.text(said)
}

/// What was found, as it is kept.
pub(crate) fn findings_to_keep(findings: &Findings) -> Findings {
    let mut findings = findings.clone();
    for exhibit in &mut findings.exhibits {
        exhibit.state.iter_mut().for_each(hide_to_keep);
        if let Some(failure) = &mut exhibit.failure {
            failure.message = to_keep(&failure.message);
            failure.text = to_keep(&failure.text);
        }
    }
    findings
}
