//! `unflake learn`: the functions that tell flaky tests from others.

use std::fmt::Write as _;

use serde::Serialize;
use unflake_calls::folds::Fold;
use unflake_calls::learn::{Chosen, Score};
use unflake_known::Lesson;
use unflake_model::RootCause;

use crate::command::Command;
use crate::document::Document;
use crate::schema;
use crate::words::{percent, plural};

/// The file to be reviewed; a comment says what each function does.
pub fn toml(lesson: &Lesson) -> String {
    let mut text = String::new();
    let mut line = |words: String| {
        text += &words;
        text.push('\n');
    };
    let tests = plural(lesson.n_tests as u64, "test", "tests");
    let projects = plural(lesson.n_projects as u64, "project", "projects");
    line(format!("# Learned from {tests} of {projects}, {} of them flaky.", lesson.n_flaky));
    if lesson.n_unlabelled > 0 {
        let (one, many) = ("test without a label was", "tests without a label were");
        line(format!("# {} left out.", plural(lesson.n_unlabelled as u64, one, many)));
    }
    line(format!("# On these tests: {}.", words(lesson.learned.score)));
    for (number, fold) in (1..).zip(&lesson.folds) {
        let aside = plural(fold.n_tests as u64, "test", "tests");
        let score = words(fold.score);
        line(format!("# Learned without part {number} ({aside}), on that part: {score}."));
    }
    line(format!("# The functions known by hand, on these tests: {}.", words(lesson.manual)));
    for chosen in &lesson.learned.chosen {
        line(String::new());
        line(entry(chosen));
    }
    text
}

fn entry(Chosen { function, cause, alone, added }: &Chosen) -> String {
    let mut text = format!(
        "# Exposes {} of which {} flaky; {} and {} more than those above.\n[[function]]\n",
        plural(alone.n as u64, "test", "tests"),
        plural(alone.n_flaky as u64, "is", "are"),
        added.n,
        added.n_flaky,
    );
    // What JSON has quoted, TOML reads.
    let name = serde_json::to_string(&function.to_string()).expect("a text");
    let _ = write!(text, "name = {name}");
    if let Some(cause) = cause {
        let _ = write!(text, "\ncause = \"{cause}\"");
    }
    text
}

fn words(score: Score) -> String {
    let cost = percent(score.cost, 2);
    match score.recall.map(|recall| percent(recall, 2)) {
        Some(recall) => format!("exposes {recall} % of the flaky tests, {cost} % of all"),
        None => format!("exposes {cost} % of all; none is flaky"),
    }
}

/// For programs.
pub fn json(lesson: &Lesson) -> String {
    Document::new(&schema::LEARN, Command::Learn, LearnRow::of(lesson)).text()
}

#[derive(Serialize)]
struct LearnRow {
    tests: usize,
    flaky: usize,
    projects: usize,
    unlabelled: usize,
    recall: Option<f64>,
    cost: f64,
    functions: Vec<FunctionRow>,
    folds: Vec<FoldRow>,
    manual: ScoreRow,
}

#[derive(Serialize)]
struct FunctionRow {
    name: String,
    cause: Option<&'static str>,
    tests: usize,
    flaky: usize,
    more_tests: usize,
    more_flaky: usize,
}

#[derive(Serialize)]
struct FoldRow {
    tests: usize,
    flaky: usize,
    recall: Option<f64>,
    cost: f64,
    functions: Vec<String>,
}

#[derive(Serialize)]
struct ScoreRow {
    recall: Option<f64>,
    cost: f64,
}

impl LearnRow {
    fn of(lesson: &Lesson) -> Self {
        let Score { recall, cost } = lesson.learned.score;
        Self {
            tests: lesson.n_tests,
            flaky: lesson.n_flaky,
            projects: lesson.n_projects,
            unlabelled: lesson.n_unlabelled,
            recall,
            cost,
            functions: lesson.learned.chosen.iter().map(FunctionRow::of).collect(),
            folds: lesson.folds.iter().map(FoldRow::of).collect(),
            manual: ScoreRow { recall: lesson.manual.recall, cost: lesson.manual.cost },
        }
    }
}

impl FunctionRow {
    fn of(chosen: &Chosen) -> Self {
        Self {
            name: chosen.function.to_string(),
            cause: chosen.cause.map(RootCause::slug),
            tests: chosen.alone.n,
            flaky: chosen.alone.n_flaky,
            more_tests: chosen.added.n,
            more_flaky: chosen.added.n_flaky,
        }
    }
}

impl FoldRow {
    fn of(fold: &Fold) -> Self {
        let Score { recall, cost } = fold.score;
        let functions = fold.learned.chosen.iter().map(|it| it.function.to_string()).collect();
        Self { tests: fold.n_tests, flaky: fold.n_flaky, recall, cost, functions }
    }
}
