//! `unflake man`: the manual, from the same words as `--help`.
//!
//! Options and commands are set by `clap_mangen`. What we lay out by hand (lists, examples, exit
//! codes) it would fill like running text, so those parts are set here, line by line.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::exit::Failure;

/// Where a page has text that stands under no heading of its own.
const NOTES: &str = "NOTES";

/// Options of `unflake man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The command [default: unflake as a whole]
    pub command: Option<String>,

    /// Write the pages of all commands into this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    pub into: Option<PathBuf>,
}

/// Prints one page about the whole command line or a part of it, or writes all.
pub(crate) fn run(args: &ManArgs, mut whole: clap::Command) -> Result<(), Failure> {
    // Only then does each command know its full name.
    whole.build();
    if let Some(folder) = &args.into {
        return write_all(&whole, folder);
    }
    let command = match &args.command {
        None => &whole,
        Some(name) => whole.find_subcommand(name).ok_or_else(|| {
            Failure::input(format!("`{name}` is no command"), "`unflake --help` lists them")
        })?,
    };
    io::stdout().lock().write_all(&page(command)?.text)?;
    Ok(())
}

fn write_all(whole: &clap::Command, folder: &Path) -> Result<(), Failure> {
    for command in std::iter::once(whole).chain(whole.get_subcommands()) {
        let page = page(command)?;
        let file = folder.join(&page.name);
        fs::write(&file, page.text).map_err(|error| {
            let message = format!("cannot write `{}`: {error}", file.display());
            Failure::input(message, "name a folder that is there and that you may write to")
        })?;
    }
    Ok(())
}

/// A page of the manual.
struct Page {
    /// What its file is called: `unflake-detect.1`.
    name: String,
    text: Vec<u8>,
}

fn page(command: &clap::Command) -> io::Result<Page> {
    let man = Man::new(command.clone())
        .source(concat!("unflake ", env!("CARGO_PKG_VERSION")))
        .manual("unflake");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    description(command).to_writer(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    after(command).to_writer(&mut text)?;
    Ok(Page { name: man.get_filename(), text })
}

fn description(command: &clap::Command) -> Roff {
    let mut roff = Roff::new();
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        roff.control("SH", ["DESCRIPTION"]);
        set(&mut roff, &about.to_string());
    }
    roff
}

/// What `--help` says after the options. A line at the margin that begins a paragraph and ends in
/// a colon is a heading there, so it is one here.
fn after(command: &clap::Command) -> Roff {
    let mut roff = Roff::new();
    let text = command.get_after_long_help().or_else(|| command.get_after_help());
    let text = text.map(ToString::to_string).unwrap_or_default();
    let mut heading = NOTES.to_owned();
    let mut body = String::new();
    for line in text.lines() {
        let begins = body.is_empty() || body.ends_with("\n\n");
        if let Some(next) = line.strip_suffix(':').filter(|l| begins && !l.starts_with(' ')) {
            section(&mut roff, &heading, &body);
            heading = next.to_uppercase();
            body.clear();
        } else {
            body.push_str(line);
            body.push('\n');
        }
    }
    section(&mut roff, &heading, &body);
    roff
}

fn section(roff: &mut Roff, heading: &str, body: &str) {
    if !body.trim().is_empty() {
        roff.control("SH", [heading]);
        set(roff, body.trim_end());
    }
}

/// Sets text: paragraphs are filled, what is indented stays line by line.
fn set(roff: &mut Roff, text: &str) {
    let mut is_kept = false;
    for line in text.lines() {
        let indented = line.starts_with(' ');
        if indented != is_kept && !line.trim().is_empty() {
            roff.control(if indented { "nf" } else { "fi" }, []);
            is_kept = indented;
        }
        if line.trim().is_empty() {
            roff.control("PP", []);
        } else {
            roff.text([roman(line)]);
        }
    }
    if is_kept {
        roff.control("fi", []);
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Args;

    fn text_of(name: &str) -> String {
        let mut whole = Args::command();
        whole.build();
        let page = page(whole.find_subcommand(name).unwrap_or(&whole)).unwrap();
        String::from_utf8(page.text).unwrap()
    }

    #[test]
    fn a_page_carries_its_full_name_and_headings_and_keeps_what_is_laid_out_by_hand() {
        let page = text_of("triage");
        assert!(page.contains(".TH unflake-triage 1"), "{page}");
        assert!(page.contains("\n.SH EXAMPLES\n.nf\n"), "{page}");
        assert!(page.contains("of these fail tells what it is:\n"), "{page}");
        assert!(!page.contains("EXTRA"), "{page}");
        let whole = text_of("");
        assert!(whole.contains("\n.SH \"EXIT CODES\"\n.nf\n"), "{whole}");
        assert!(whole.contains("unflake\\-detect(1)"), "{whole}");
    }

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let whole = Args::command();
        run(&ManArgs { command: None, into: Some(folder.path().to_owned()) }, whole.clone())
            .unwrap();
        for command in whole.get_subcommands() {
            let file = folder.path().join(format!("unflake-{}.1", command.get_name()));
            assert!(file.is_file(), "{}", file.display());
        }
        assert!(folder.path().join("unflake.1").is_file());
        let unknown = ManArgs { command: Some("no".to_owned()), into: None };
        assert_eq!(run(&unknown, whole).unwrap_err().to_string(), "`no` is no command");
    }
}
