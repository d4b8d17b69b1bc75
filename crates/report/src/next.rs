//! What to do next: about one finding, about the cause that was found for it, about a report.

use std::borrow::Cow;

use unflake_known::{Ended, Exhibit, Offer, Offered, View, quote};
use unflake_model::{RootCause, Verdict};

use crate::ranking::Family;
use crate::visible::visible;
use crate::words::Census;

/// What to do about one finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Type this.
    Command(String),
    /// No command of ours helps: why, or what a person can do.
    Advice(Cow<'static, str>),
}

/// What to do about a finding: `fix` where the tests can be changed by us, `shake` where chance
/// must be narrowed down, or what else there is to do.
pub(crate) fn next(view: &View<'_>, exhibit: &Exhibit, offer: &Offer) -> Next {
    let test = quote(&visible(view.suite.id(exhibit.finding.test).as_str()));
    let command = |text: &str| Next::Command(format!("unflake {text} {test}"));
    let advice = |text: &'static str| Next::Advice(text.into());
    let verdict = exhibit.finding.verdict;
    // Shaken already: what was found there says what to do.
    let is_shaken = verdict.is_non_deterministic() || verdict == Verdict::Env;
    let cause = exhibit.factors.iter().find_map(|known| known.cause).filter(|_| is_shaken);
    if let Some(cause) = cause {
        return advice(advice_for(cause));
    }
    match verdict {
        Verdict::OdVictim => offered(&offer.fix, command("fix"), |only| {
            format!(
                "let the polluter put back what it changes, or let this test set it up; `unflake \
                 fix` does that for {only} only"
            )
        }),
        Verdict::OdBrittle => offered(&offer.fix, command("fix"), |only| {
            format!(
                "let this test set up what the state-setter does; `unflake fix` does that for \
                 {only} only"
            )
        }),
        Verdict::OdUnknownRole => Next::Command(format!("unflake why {test} --depth exhaustive")),
        Verdict::Ndod | Verdict::Ndoi | Verdict::NodUndecided | Verdict::Env | Verdict::Ud => {
            offered(&offer.shake, command("shake"), |only| {
                format!(
                    "look for time, threads, random numbers and the network; `unflake trace` lists \
                     what it calls (`unflake shake` is for {only} only)"
                )
            })
        }
        Verdict::Id => advice(
            "sort, or compare without order; `unflake fix` and `unflake shake` have nothing to add",
        ),
        Verdict::Nio => advice(
            "let it put back what it leaves behind; `unflake fix` cannot, as no other test is \
             involved",
        ),
        Verdict::AlwaysFailing => {
            advice("repair it: it is broken rather than flaky, so neither `fix` nor `shake` helps")
        }
        Verdict::InsufficientEvidence => {
            advice("start it again with more time or runs (--time, --runs)")
        }
        Verdict::NotFlaky => match offer.shake {
            Offered::Yes => command("shake"),
            Offered::OnlyFor(_) => advice("nothing, as far as was seen"),
        },
    }
}

/// A command where it works, else advice that says with what it does.
fn offered(offered: &Offered, command: Next, advice: impl Fn(&str) -> String) -> Next {
    match offered {
        Offered::Yes => command,
        Offered::OnlyFor(names) => Next::Advice(advice(&names.join(" and ")).into()),
    }
}

/// What the cause means for whoever has to repair it.
pub(crate) fn advice_for(cause: RootCause) -> &'static str {
    match cause {
        RootCause::AsyncWait => {
            "It waits for a span of time, and not for what it needs. Wait for the event itself, or \
             poll for the condition with a generous limit."
        }
        RootCause::Concurrency => {
            "Threads or processes get into each other's way. Protect what they share, or let it be \
             their own."
        }
        RootCause::OrderDependency => "`unflake why` says on which tests it depends.",
        RootCause::Network => {
            "It relies on how fast the network answers, or on an address being free. Take port 0, \
             and wait for the answer."
        }
        RootCause::ResourceLeak => {
            "It takes more than there may be, or does not give it back. Close what it opens."
        }
        RootCause::Randomness => {
            "It draws random numbers that nobody seeds. Seed them, or assert what holds for all."
        }
        RootCause::Io => {
            "It relies on the disk being fast, or on nobody else using the same files. Wait for \
             the file, and use a temporary folder."
        }
        RootCause::Time => {
            "It relies on what time it is, or on two looks at the clock being close. Pass the time \
             in, or compare with a tolerance that holds across midnight."
        }
        RootCause::FloatingPoint => {
            "It compares floating point numbers for equality, which are rounded otherwise when \
             added in another order. Compare with a tolerance, or use `math.fsum`."
        }
        RootCause::UnorderedCollection => {
            "It relies on an order that nothing promises. Sort, or compare as sets."
        }
        RootCause::Platform => {
            "It relies on how this machine is set up. Let the test, or the code, say what it needs."
        }
    }
}

/// Where to begin.
pub(crate) fn next_step(view: &View<'_>, families: &[Family<'_>]) -> String {
    let Some(first) = families.iter().find(|family| family.is_flaky()) else {
        return match view.ended {
            Ended::Confident => format!("To find rarer ones, {}", deeper(&view.origin.command)),
            Ended::OutOfBudget => "Start it again with more time or runs".to_owned(),
            Ended::Interrupted => "Start it again, and let it come to its end".to_owned(),
        };
    };
    let n_flaky = Census::of(view).flaky;
    if first.members.len() < 2 {
        return "`unflake why TEST` tells more about one test".to_owned();
    }
    format!(
        "Look at the first cause first, it explains {} of {n_flaky}; `unflake why TEST` tells more \
         about one test",
        first.n_flaky()
    )
}

/// What to ask for after a search that came to its end by itself: what ended it is not the budget.
fn deeper(command: &str) -> &'static str {
    // What follows the first `--` is for the runner.
    let mut words = command.split(' ').take_while(|word| *word != "--");
    let kind = words.find_map(|word| match word.split('=').next() {
        Some("--strategy") => Some("ask for more rounds (--rounds)"),
        Some("--reruns") => Some("let finding one cost more (--price)"),
        _ => None,
    });
    kind.unwrap_or("ask for a lower flake rate (--flake-rate)")
}
