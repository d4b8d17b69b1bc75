//! Lines for a terminal: labels in a column, prose wrapped, ids never broken, commands only so that
//! a shell reads them as one. What is too long to stand beside its label stands below it.
//!
//! Width is counted in characters. Some scripts take two columns for one; so whatever comes from
//! outside stands last on its line, where it can push nothing out of line.

use std::fmt::Write as _;

use owo_colors::{OwoColorize as _, Style};
use unflake_model::Verdict;

use crate::visible::visible;
use unflake_known::Warning;

/// Whether to send colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Send them.
    On,
    /// Words alone; they say everything.
    Off,
}

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// What was found, and not what to do next.
    Brief,
    /// What most want to know.
    #[default]
    Usual,
    /// Also what stands behind it: every finding in full, its runs, commands however long.
    Full,
}

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Columns to wrap prose at. Ids and words of commands may go beyond: broken, they are useless.
    pub width: usize,
    /// Whether to send colours.
    pub colour: Colour,
    /// How much is told.
    pub detail: Detail,
}

impl Layout {
    /// Narrower than this, text is laid out as if it were this wide.
    pub const WIDTH_MIN: usize = 40;

    /// Words alone, as wide as this.
    pub const fn plain(width: usize) -> Self {
        Self { width, colour: Colour::Off, detail: Detail::Usual }
    }
}

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// As it is.
    Plain,
    /// What is read first.
    Heading,
    /// What helps to read the rest.
    Faint,
    /// The kind of a finding.
    Verdict(Verdict),
    /// To be typed.
    Command,
    /// Something in the way.
    Warning,
}

impl Ink {
    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Heading => Style::new().bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Verdict(verdict) => style_of(verdict),
            Self::Warning => Style::new().yellow().bold(),
            Self::Command => Style::new().cyan(),
        }
    }
}

fn style_of(verdict: Verdict) -> Style {
    let style = Style::new().bold();
    match verdict {
        Verdict::OdVictim | Verdict::OdBrittle | Verdict::OdUnknownRole => style.red(),
        Verdict::Ndod | Verdict::Ndoi | Verdict::NodUndecided => style.magenta(),
        Verdict::NotFlaky => style.green(),
        Verdict::Id
        | Verdict::Env
        | Verdict::Nio
        | Verdict::Ud
        | Verdict::AlwaysFailing
        | Verdict::InsufficientEvidence => style.yellow(),
    }
}

const INDENT: usize = 2;
/// As wide as the longest label, `state-setters`, and two spaces.
const LABEL: usize = 15;
/// What has no room beside its label stands below it, this far in.
const BELOW: usize = 4;
/// With less room than this beside a label, everything stands below it.
const ROOM_MIN: usize = 30;

/// Text under construction.
#[derive(Debug)]
pub struct Page {
    text: String,
    layout: Layout,
}

impl Page {
    /// An empty one.
    pub fn new(layout: Layout) -> Self {
        Self { text: String::new(), layout }
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.text
    }

    /// How much is told.
    pub fn detail(&self) -> Detail {
        self.layout.detail
    }

    /// How much fits beside a label, or where that is too little, below it.
    pub fn room(&self) -> usize {
        if self.is_narrow() { self.room_below() } else { self.width() - INDENT - LABEL }
    }

    /// How much fits below a label.
    pub fn room_below(&self) -> usize {
        self.width() - BELOW
    }

    fn width(&self) -> usize {
        self.layout.width.max(Layout::WIDTH_MIN)
    }

    fn is_narrow(&self) -> bool {
        self.width() < INDENT + LABEL + ROOM_MIN
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line of pieces, as they are.
    pub fn line(&mut self, pieces: &[(Ink, &str)]) {
        for (ink, piece) in pieces {
            self.paint(*ink, piece);
        }
        self.text.push('\n');
    }

    /// What must not be broken behind what may stand above it, if one line does not hold both.
    pub fn line_with_id(&mut self, (ink, before): (Ink, &str), (id_ink, id): (Ink, &str)) {
        if before.chars().count() + id.chars().count() <= self.width() {
            return self.line(&[(ink, before), (id_ink, id)]);
        }
        let indent = " ".repeat(before.len() - before.trim_start().len());
        for line in wrapped(before, self.width() - indent.len()) {
            self.line(&[(Ink::Plain, &indent), (ink, &line)]);
        }
        let indent = indent + &" ".repeat(INDENT);
        self.line(&[(Ink::Plain, &indent), (id_ink, id)]);
    }

    /// Sentences over the whole width.
    pub fn prose(&mut self, text: &str) {
        self.prose_in(Ink::Plain, text);
    }

    /// The same in a colour.
    pub fn prose_in(&mut self, ink: Ink, text: &str) {
        for line in wrapped(text, self.width()) {
            self.line(&[(ink, &line)]);
        }
    }

    /// Sentences that belong to what stands above them.
    pub fn prose_below(&mut self, text: &str) {
        for line in wrapped(text, self.width() - INDENT) {
            self.line(&[(Ink::Plain, &" ".repeat(INDENT)), (Ink::Plain, &line)]);
        }
    }

    /// Sentences behind a head of any width, each line of text with lines of its own; below the
    /// head, where there is little room beside it.
    pub fn behind(&mut self, head: &str, text: &str) {
        let beside = head.chars().count();
        let is_below = self.width() < beside + ROOM_MIN;
        let indent = if is_below { BELOW } else { beside };
        let room = self.width() - indent;
        let lines: Vec<String> = text.lines().flat_map(|line| wrapped(line, room)).collect();
        let mut before = head.to_owned();
        if is_below {
            self.line(&[(Ink::Plain, head.trim_end())]);
            before = " ".repeat(indent);
        }
        for line in lines {
            self.line(&[(Ink::Plain, &before), (Ink::Plain, &line)]);
            before = " ".repeat(indent);
        }
    }

    /// A warning, set off from what stands before it.
    pub fn warning(&mut self, warning: &Warning) {
        self.blank();
        self.line(&[(Ink::Warning, "warning"), (Ink::Plain, "  "), (Ink::Heading, warning.slug())]);
        self.row("what", &visible(&warning.message()));
        self.row("advice", warning.advice());
    }

    /// Sentences beside a label.
    pub fn row(&mut self, label: &str, text: &str) {
        self.row_in(label, Ink::Plain, text);
    }

    /// The same in a colour.
    pub fn row_in(&mut self, label: &str, ink: Ink, text: &str) {
        let lines = wrapped(text, self.room());
        self.exact(label, ink, &lines);
    }

    /// Commands beside a label, each to be pasted as it stands: one that is too long goes on in the
    /// next line, behind a backslash, and only between words.
    pub fn commands(&mut self, label: &str, commands: &[impl AsRef<str>]) {
        let room = self.room_below();
        let lines: Vec<String> =
            commands.iter().flat_map(|command| continued(command.as_ref(), room)).collect();
        self.exact(label, Ink::Command, &lines);
    }

    /// Lines beside a label, as they are; below it, if one of them would go beyond the width.
    /// Nothing without lines.
    pub fn exact(&mut self, label: &str, ink: Ink, lines: &[impl AsRef<str>]) {
        let room = self.room();
        let is_long = lines.iter().any(|line| room < line.as_ref().chars().count());
        let is_below = self.is_narrow() || is_long || LABEL <= label.chars().count();
        if is_below && !label.is_empty() && !lines.is_empty() {
            self.line(&[(Ink::Plain, &" ".repeat(INDENT)), (Ink::Faint, label)]);
        }
        for (number, line) in lines.iter().enumerate() {
            let label = if number == 0 { label } else { "" };
            if label.is_empty() && line.as_ref().is_empty() {
                self.blank();
                continue;
            }
            if is_below {
                self.text.push_str(&" ".repeat(BELOW));
            } else {
                self.text.push_str(&" ".repeat(INDENT));
                self.paint(Ink::Faint, &format!("{label:<LABEL$}"));
            }
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

/// A command over as many lines as it takes, as a shell reads them as one.
fn continued(command: &str, room: usize) -> Vec<String> {
    const FURTHER: &str = "  ";
    const GOES_ON: &str = " \\";
    if command.chars().count() <= room {
        return vec![command.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in shell_words(command) {
        let n_chars = word.chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + n_chars + GOES_ON.len() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            Some(line) => {
                line.push_str(GOES_ON);
                lines.push(format!("{FURTHER}{word}"));
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The words of a command, with their quotes. Nothing is dropped but the spaces between them.
fn shell_words(command: &str) -> Vec<&str> {
    let (mut words, mut start, mut quote, mut is_escaped) = (Vec::new(), 0, None, false);
    for (place, c) in command.char_indices() {
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, ' ') => {
                words.push(&command[start..place]);
                start = place + 1;
            }
            _ => (),
        }
    }
    words.push(&command[start..]);
    words.retain(|word| !word.is_empty());
    words
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
    fn a_long_command_goes_on_between_words_and_never_within_quotes() {
        let command = r"python -m pytest a.py::b 'c.py::d[x y '\'' z]' e.py::f";
        assert_eq!(
            continued(command, 30),
            [r"python -m pytest a.py::b \", r"  'c.py::d[x y '\'' z]' \", "  e.py::f",]
        );
        assert_eq!(continued(command, 80), [command]);
        assert_eq!(shell_words(r#"a "b \" c" \' d"#), ["a", r#""b \" c""#, r"\'", "d"]);
    }

    #[test]
    fn text_stands_below_a_label_that_would_touch_it() {
        let mut page = Page::new(Layout::plain(60));
        page.row("unordered-collection", "posix:listdir");
        assert_eq!(page.finish(), "  unordered-collection\n    posix:listdir\n");
    }

    #[test]
    fn what_stands_behind_a_head_keeps_to_the_width() {
        let render = |width| {
            let mut page = Page::new(Layout::plain(width));
            page.behind("ok       plugins      ", "none that reorders or repeats\ntests");
            page.finish()
        };
        let head = "ok       plugins";
        let beside = format!("{head}      none that reorders or repeats\n{:22}tests\n", "");
        assert_eq!(render(80), beside);
        assert_eq!(render(40), format!("{head}\n    none that reorders or repeats\n    tests\n"));
    }

    #[test]
    fn colour_only_adds() {
        let render = |colour| {
            let mut page = Page::new(Layout { colour, ..Layout::plain(60) });
            page.line(&[(Ink::Verdict(Verdict::OdVictim), "od-victim"), (Ink::Plain, " a")]);
            page.row("kind", "passes alone");
            page.finish()
        };
        assert_eq!(render(Colour::Off), "od-victim a\n  kind           passes alone\n");
        let coloured = render(Colour::On);
        assert!(coloured.starts_with("\u{1b}[31;1mod-victim\u{1b}[0m a\n"), "{coloured:?}");
    }
}
