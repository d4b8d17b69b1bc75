//! Lines for a terminal: labels in a column, prose wrapped, ids and commands never broken.
//!
//! Width is counted in characters. Some scripts take two columns for one; so whatever comes from
//! outside stands last on its line, where it can push nothing out of line.

use std::fmt::Write as _;

use owo_colors::{OwoColorize as _, Style};
use unflake_model::Verdict;

use crate::Warning;
use crate::visible::visible;

/// Whether to send colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Send them.
    On,
    /// Words alone; they say everything.
    Off,
}

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Columns to wrap prose at. Ids and commands may go beyond: broken, they are of no use.
    pub width: usize,
    /// Whether to send colours.
    pub colour: Colour,
}

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Heading,
    Faint,
    Verdict(Verdict),
    Command,
    Warning,
}

impl Ink {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Heading => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Verdict(verdict) if verdict.is_order_dependent() => Style::new().red().bold(),
            Self::Verdict(Verdict::NotFlaky) => Style::new().green().bold(),
            Self::Verdict(verdict) if verdict.is_non_deterministic() => {
                Style::new().magenta().bold()
            }
            Self::Verdict(_) | Self::Warning => Style::new().yellow().bold(),
            Self::Command => Style::new().cyan(),
        }
    }
}

const INDENT: usize = 2;
/// As wide as the longest label, `state-setters`, and two spaces.
const LABEL: usize = 15;
/// Narrower than this, prose is wrapped as if it were this wide.
const PROSE_MIN: usize = 30;

/// Text under construction.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    layout: Layout,
}

impl Page {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { text: String::new(), layout }
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// How much fits beside a label.
    pub(crate) fn room(&self) -> usize {
        self.layout.width.saturating_sub(INDENT + LABEL).max(PROSE_MIN)
    }

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line of pieces, as they are.
    pub(crate) fn line(&mut self, pieces: &[(Ink, &str)]) {
        for (ink, piece) in pieces {
            self.paint(*ink, piece);
        }
        self.text.push('\n');
    }

    /// Sentences over the whole width.
    pub(crate) fn prose(&mut self, text: &str) {
        for line in wrapped(text, self.layout.width.max(PROSE_MIN)) {
            self.line(&[(Ink::Plain, &line)]);
        }
    }

    /// A warning, set off from what stands before it.
    pub(crate) fn warning(&mut self, warning: &Warning) {
        self.blank();
        self.line(&[(Ink::Warning, "warning"), (Ink::Plain, "  "), (Ink::Heading, warning.slug())]);
        self.row("what", &visible(&warning.message()));
        self.row("advice", warning.advice());
    }

    /// Sentences beside a label.
    pub(crate) fn row(&mut self, label: &str, text: &str) {
        let lines = wrapped(text, self.room());
        self.exact(label, Ink::Plain, &lines);
    }

    /// Lines beside a label, as they are; nothing without lines.
    pub(crate) fn exact(&mut self, label: &str, ink: Ink, lines: &[impl AsRef<str>]) {
        for (number, line) in lines.iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            if label.is_empty() && line.as_ref().is_empty() {
                self.blank();
                continue;
            }
            self.text.push_str(&" ".repeat(INDENT));
            self.paint(Ink::Faint, &format!("{label:<LABEL$}"));
            self.paint(ink, line.as_ref());
            self.text.push('\n');
        }
    }

    fn paint(&mut self, ink: Ink, text: &str) {
        let style = match self.layout.colour {
            Colour::On => ink.style(),
            Colour::Off => Style::new(),
        };
        let written = write!(self.text, "{}", text.style(style));
        written.expect("a string takes everything");
    }
}

/// Breaks prose at spaces, but not before a unit. A word longer than the width has a line of its
/// own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(number) if is_unit(word) => *number = format!("{number} {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                *line = format!("{line} {word}");
            }
            _ => lines.push(word),
        }
    }
    lines
}

fn is_unit(word: &str) -> bool {
    matches!(word.trim_end_matches([')', ',', '.', ':', ';']), "%" | "s" | "min" | "h")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_and_long_words_are_not_broken() {
        let text = "failed 3 of 40 in a/very/long/path/that/is/kept.py now";
        assert_eq!(
            wrapped(text, 14),
            ["failed 3 of 40", "in", "a/very/long/path/that/is/kept.py", "now"]
        );
        assert_eq!(wrapped("took 3 min 20 s) and", 6), ["took", "3 min", "20 s)", "and"]);
        assert!(wrapped("", 14).is_empty());
    }

    #[test]
    fn colour_only_adds() {
        let render = |colour| {
            let mut page = Page::new(Layout { width: 40, colour });
            page.line(&[(Ink::Verdict(Verdict::OdVictim), "od-victim"), (Ink::Plain, " a")]);
            page.row("kind", "passes alone");
            page.finish()
        };
        assert_eq!(render(Colour::Off), "od-victim a\n  kind           passes alone\n");
        let coloured = render(Colour::On);
        assert!(coloured.starts_with("\u{1b}[31;1mod-victim\u{1b}[0m a\n"), "{coloured:?}");
    }
}
