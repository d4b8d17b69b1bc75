//! A comment on a pull request: a table of places, then what limits it. Bounded in bytes, as
//! [`crate::markdown`] is.

use crate::dirt::text::{crowd_in_words, headline, sentences};
use crate::dirt::{Shown, crowds, meaning};
use crate::markdown::{Comment, code};
use crate::words::more;
use unflake_known::inspection::{Inspection, Left, Standing};

/// Where the table ends at the latest; the rest is for what follows.
const TABLE_BYTES: usize = 48_000;
/// No warning may take the place of the summary.
const WARNINGS_BYTES: usize = 57_000;
/// Rows of the table.
const ROWS_MAX: usize = 200;

/// The whole comment, at most [`crate::markdown::BYTES_MAX`] bytes.
pub fn render(inspection: &Inspection, shown: Shown) -> String {
    let mut comment = Comment::default();
    comment.add(&format!("### unflake lint: {}\n\n", headline(inspection)));
    let crowds = crowds(inspection);
    let items = crowds.iter().map(|crowd| format!("- {}\n", code(&crowd_in_words(crowd))));
    if 0 < comment.add_within(TABLE_BYTES / 4, items) {
        comment.add("\n");
    }
    let is_told = |left: &Left| crowds.iter().any(|crowd| crowd.holds(left));
    let rows: Vec<String> = inspection
        .places()
        .filter(|(_, left)| shown.covers(&left.standing) && !is_told(left))
        .map(|(leaver, left)| format!("| {} | {}\n", code(leaver.test.as_str()), cells(left)))
        .collect();
    if !rows.is_empty() {
        comment.add("| test | place | kind | before | after | |\n|---|---|---|---|---|---|\n");
        let n_rows = comment.add_within(TABLE_BYTES, rows.iter().take(ROWS_MAX).cloned());
        comment.add("\n");
        if let Some(more) = more(rows.len(), n_rows) {
            comment.add(&format!("{more} in the full report.\n\n"));
        }
    }
    let warnings = inspection.warnings.iter().map(|warning| {
        format!("- **warning:** {}; {}\n", code(&warning.message()), warning.advice())
    });
    let unused = inspection
        .unused
        .iter()
        .map(|entry| format!("- **warning:** nothing matches {} of the allow-list\n", code(entry)));
    if 0 < comment.add_within(WARNINGS_BYTES, warnings.chain(unused)) {
        comment.add("\n");
    }
    comment.add(&(sentences(inspection, shown).join(". ") + ".\n"));
    comment.text
}

fn cells(left: &Left) -> String {
    let text = |value: &Option<String>| value.as_ref().map_or("–".to_owned(), |text| code(text));
    let by = left.by.as_ref().map(|by| format!("by {}", code(by)));
    let remark = match &left.standing {
        Standing::Dirt { put_back_by: None } => by.unwrap_or_default(),
        Standing::Dirt { put_back_by: Some(test) } => {
            format!("put back by {}", code(test.as_str()))
        }
        Standing::PutsBack { left_by } => format!("puts back what {} left", code(left_by.as_str())),
        Standing::Harmless(why) => format!("harmless: {}", meaning(*why)),
        Standing::Allowed { entry } => format!("allowed by {}", code(entry)),
    };
    let state = &left.state;
    let (before, after) = (text(&state.before), text(&state.after));
    format!(
        "{} | {} | {before} | {after} | {remark} |",
        code(&state.place),
        code(state.kind.slug())
    )
}
