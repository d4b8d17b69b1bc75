//! Hides secrets in everything a test run says, before it is kept or shown.
//!
//! What is hidden is the same for the whole program, and is set once, before anything runs; so
//! nobody on the way can forget to pass it on. Until then, values that look like secrets are
//! hidden. If the user wants to see secrets, they are shown, but still hidden in what is kept.

use std::sync::OnceLock;

use unflake_known::{Failure, Findings, State};
use unflake_model::StateChange;
use unflake_model::secret::Secrets;

static SECRETS: OnceLock<(Secrets, bool)> = OnceLock::new();

/// Sets once what is hidden, and whether it is shown to the user.
pub fn know(secrets: Secrets, is_shown: bool) {
    // The first setting stays.
    let _ = SECRETS.set((secrets, is_shown));
}

fn secrets() -> &'static (Secrets, bool) {
    SECRETS.get_or_init(Default::default)
}

fn to_show(said: String) -> String {
    let (secrets, is_shown) = secrets();
    if *is_shown { said } else { secrets.text(&said) }
}

/// The message and text of a failed attempt, as they are shown.
pub(crate) fn failure(message: String, text: String) -> Failure {
    Failure { message: to_show(message), text: to_show(text) }
}

/// A change as it is shown.
pub(crate) fn state(change: &StateChange) -> State {
    let mut state = whole(change);
    hide(&mut state);
    state
}

/// A change for comparison with others; must be hidden before it is shown.
pub(crate) fn whole(change: &StateChange) -> State {
    let StateChange { place, kind, before, after, .. } = change.clone();
    State { place, kind, before, after }
}

/// Hides the secrets in a change.
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

/// Findings as they are kept.
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
