//! How people are told: colours, width, and how much.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::ValueEnum;
use terminal_size::{Width, terminal_size_of};
use unflake_report::{Colour, Detail, Layout};

/// Prose is wrapped at this width where nobody says, and never wider: long lines are hard to read.
const WIDTH: usize = 100;

/// Options of all commands.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ScreenArgs {
    /// When to send colours; `auto` heeds `NO_COLOR`, `FORCE_COLOR` and the terminal
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorArg,

    /// Print the result only: no progress, no advice
    #[arg(long, short, global = true)]
    pub quiet: bool,

    /// Print more: every finding in full, its runs, and commands however long
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
}

/// When to send colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    /// To terminals that want them
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How people are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    color: ColorArg,
    detail: Detail,
}

impl Screen {
    pub(crate) fn new(args: ScreenArgs) -> Self {
        let detail = match (args.quiet, args.verbose) {
            (true, _) => Detail::Brief,
            (false, true) => Detail::Full,
            (false, false) => Detail::Usual,
        };
        Self { color: args.color, detail }
    }

    /// For standard output.
    pub(crate) fn layout(self) -> Layout {
        self.layout_of(&io::stdout())
    }

    /// For standard error.
    pub(crate) fn notes(self) -> Layout {
        self.layout_of(&io::stderr())
    }

    fn layout_of(self, out: &(impl IsTerminal + std::os::fd::AsFd)) -> Layout {
        let wishes = Wishes::here();
        let of_terminal = terminal_size_of(out).map(|(Width(columns), _)| usize::from(columns));
        Layout {
            width: wishes.width(of_terminal),
            colour: wishes.colour(self.color, out.is_terminal()),
            detail: self.detail,
        }
    }

    /// Whether nothing but the result is wanted.
    pub(crate) fn is_quiet(self) -> bool {
        self.detail == Detail::Brief
    }
}

/// Whether a line can be written over there.
pub(crate) fn can_rewrite(out: &impl IsTerminal) -> bool {
    out.is_terminal() && !Wishes::here().is_dumb()
}

/// What the environment says about terminals.
#[derive(Clone, Debug, Default)]
struct Wishes {
    no_color: Option<OsString>,
    force_color: Option<OsString>,
    clicolor_force: Option<OsString>,
    term: Option<OsString>,
    columns: Option<OsString>,
}

impl Wishes {
    fn here() -> Self {
        Self {
            no_color: std::env::var_os("NO_COLOR"),
            force_color: std::env::var_os("FORCE_COLOR"),
            clicolor_force: std::env::var_os("CLICOLOR_FORCE"),
            term: std::env::var_os("TERM"),
            columns: std::env::var_os("COLUMNS"),
        }
    }

    /// What is typed goes first, then who wants none, then who wants them everywhere.
    fn colour(&self, typed: ColorArg, is_terminal: bool) -> Colour {
        let is_set = |value: &Option<OsString>| value.as_ref().is_some_and(|it| !it.is_empty());
        let is_forced =
            |value: &Option<OsString>| is_set(value) && value.as_deref() != Some("0".as_ref());
        let is_on = match typed {
            ColorArg::Always => true,
            ColorArg::Never => false,
            ColorArg::Auto if is_set(&self.no_color) => false,
            ColorArg::Auto if is_forced(&self.force_color) => true,
            ColorArg::Auto if is_forced(&self.clicolor_force) => true,
            ColorArg::Auto => is_terminal && !self.is_dumb(),
        };
        if is_on { Colour::On } else { Colour::Off }
    }

    fn is_dumb(&self) -> bool {
        self.term.as_deref() == Some("dumb".as_ref())
    }

    fn width(&self, of_terminal: Option<usize>) -> usize {
        let named = self.columns.as_ref().and_then(|it| it.to_str()?.trim().parse().ok());
        let width = named.filter(|width| 0 < *width).or(of_terminal).unwrap_or(WIDTH);
        width.clamp(Layout::WIDTH_MIN, WIDTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(set: &[(&str, &str)]) -> Wishes {
        let get = |name: &str| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Wishes {
            no_color: get("NO_COLOR"),
            force_color: get("FORCE_COLOR"),
            clicolor_force: get("CLICOLOR_FORCE"),
            term: get("TERM"),
            columns: get("COLUMNS"),
        }
    }

    #[test]
    fn what_is_typed_goes_before_the_environment_and_that_before_the_terminal() {
        use ColorArg::{Always, Auto, Never};
        for (set, typed, is_terminal, is_on) in [
            (&[][..], Auto, true, true),
            (&[], Auto, false, false),
            (&[], Always, false, true),
            (&[], Never, true, false),
            (&[("NO_COLOR", "1")], Auto, true, false),
            (&[("NO_COLOR", "")], Auto, true, true),
            (&[("NO_COLOR", "1")], Always, true, true),
            (&[("NO_COLOR", "1"), ("FORCE_COLOR", "1")], Auto, false, false),
            (&[("FORCE_COLOR", "1")], Auto, false, true),
            (&[("FORCE_COLOR", "0")], Auto, false, false),
            (&[("CLICOLOR_FORCE", "1")], Auto, false, true),
            (&[("FORCE_COLOR", "3")], Never, true, false),
            (&[("TERM", "dumb")], Auto, true, false),
            (&[("TERM", "dumb"), ("FORCE_COLOR", "1")], Auto, true, true),
            (&[("TERM", "xterm")], Auto, true, true),
        ] {
            let colour = wishes(set).colour(typed, is_terminal);
            assert_eq!(colour == Colour::On, is_on, "{set:?} {typed:?} {is_terminal}");
        }
    }

    #[test]
    fn the_width_is_what_is_said_or_what_the_terminal_has_within_reason() {
        assert_eq!(wishes(&[]).width(None), 100);
        assert_eq!(wishes(&[]).width(Some(72)), 72);
        assert_eq!(wishes(&[("COLUMNS", "60")]).width(Some(72)), 60);
        assert_eq!(wishes(&[("COLUMNS", "wide")]).width(Some(72)), 72);
        assert_eq!(wishes(&[("COLUMNS", "0")]).width(None), 100);
        assert_eq!(wishes(&[]).width(Some(7)), 40);
        assert_eq!(wishes(&[]).width(Some(300)), 100);
    }
}
