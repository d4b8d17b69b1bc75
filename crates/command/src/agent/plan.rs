//! Which tests does the command get, in which order, and can it be asked for that?
//!
//! A run that is to put everything back between stretches of tests is that many commands: a fresh
//! process has everything as it was.

use unflake_wire::Run;

use crate::judge::Void;
use crate::names::class_of;
use crate::settings::{Kept, Settings};

/// One attempt of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) position: usize,
    pub(super) attempt: usize,
    /// By its place among the listed tests.
    pub(super) test: usize,
}

/// What each command of a run is given.
pub(super) fn plan(run: &Run, settings: &Settings, ids: &[String]) -> Result<Vec<Vec<Slot>>, Void> {
    let n_attempts = if run.twice && settings.row.repeats { 2 } else { 1 };
    let slots: Vec<Slot> = (0..)
        .zip(&run.order)
        .flat_map(|(position, test)| {
            (0..n_attempts).map(move |attempt| Slot { position, attempt, test: *test })
        })
        .collect();
    if let Some(unknown) = slots.iter().find(|slot| ids.len() <= slot.test) {
        let what = format!("there is no test {}", unknown.test);
        return Err(Void { what, hint: "it was asked for by the engine".to_owned() });
    }
    let again = run.restore.as_ref().filter(|restore| restore.again);
    let length = again.map_or(slots.len(), |restore| restore.before).max(1);
    let mut stretches: Vec<Vec<Slot>> = slots.chunks(length).map(<[Slot]>::to_vec).collect();
    if stretches.is_empty() {
        // How far a run can be set apart is asked with no tests at all.
        stretches.push(Vec::new());
    }
    stretches.iter().try_for_each(|stretch| check(stretch, settings, ids))?;
    Ok(stretches)
}

fn check(stretch: &[Slot], settings: &Settings, ids: &[String]) -> Result<(), Void> {
    let is_again = |(place, slot): &(usize, &Slot)| {
        stretch[..*place].iter().any(|before| before.test == slot.test)
    };
    let again = stretch.iter().enumerate().find(is_again);
    if let Some((_, slot)) = again.filter(|_| !settings.row.repeats) {
        return Err(Void {
            what: format!("`{}` cannot be run twice in one process", ids[slot.test]),
            hint: "set `repeats = true` of the runner if it runs a test twice that it is named \
                   twice"
                .to_owned(),
        });
    }
    let hint = |how: &str| {
        format!("`order = \"{}\"` of the runner says that it {how}", settings.order.as_str())
    };
    match settings.order {
        Kept::Exactly => Ok(()),
        Kept::NotAtAll => match stretch.windows(2).find(|pair| pair[1].test < pair[0].test) {
            None => Ok(()),
            Some(pair) => Err(Void {
                what: format!("`{}` cannot run after `{}`", ids[pair[1].test], ids[pair[0].test]),
                hint: hint("has an order of its own"),
            }),
        },
        Kept::ByClass => match torn(stretch, settings, ids) {
            None => Ok(()),
            Some(class) => Err(Void {
                what: format!("the tests of `{class}` cannot be parted"),
                hint: hint("runs the tests of a class together"),
            }),
        },
    }
}

/// A class that comes again after another one.
fn torn<'a>(stretch: &[Slot], settings: &Settings, ids: &'a [String]) -> Option<&'a str> {
    let separator = settings.between();
    let mut classes: Vec<&str> =
        stretch.iter().map(|slot| class_of(&ids[slot.test], separator)).collect();
    classes.dedup();
    let is_again = |place: &usize| classes[..*place].contains(&classes[*place]);
    (0..classes.len()).find(is_again).map(|place| classes[place])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Row;
    use unflake_wire::Restore;

    fn planned(
        order: &[usize],
        change: impl FnOnce(&mut Row, &mut Run),
    ) -> Result<Vec<Vec<usize>>, String> {
        let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let (list, run) = (words(["t", "-l"]), words(["t", "{tests}"]));
        let mut row = Row { list, run, report: "tap".to_owned(), ..Row::default() };
        let mut run: Run = serde_json::from_str(
            r#"{"run": 1, "order": [], "twice": false, "isolation": [], "scratch": "/s"}"#,
        )
        .unwrap();
        run.order = order.to_vec();
        change(&mut row, &mut run);
        let ids = ["A.a", "A.b", "B.a"].map(str::to_owned);
        let stretches = plan(&run, &Settings::new(row).unwrap(), &ids).map_err(|void| void.what)?;
        Ok(stretches.iter().map(|it| it.iter().map(|slot| slot.test).collect()).collect())
    }

    #[test]
    fn a_run_is_one_command_unless_everything_is_put_back_in_between() {
        assert_eq!(planned(&[2, 0, 1], |_, _| ()), Ok(vec![vec![2, 0, 1]]));
        assert_eq!(planned(&[], |_, _| ()), Ok(vec![vec![]]));
        let restore = Restore { before: 2, again: true, items: vec![], all_but: true };
        let apart = planned(&[0, 1, 2, 1], |_, run| run.restore = Some(restore));
        assert_eq!(apart, Ok(vec![vec![0, 1], vec![2, 1]]));
    }

    #[test]
    fn tests_are_repeated_only_by_a_runner_that_can() {
        let again = planned(&[0, 1, 0], |_, _| ());
        assert_eq!(again, Err("`A.a` cannot be run twice in one process".to_owned()));
        assert_eq!(planned(&[0, 1, 0], |row, _| row.repeats = true), Ok(vec![vec![0, 1, 0]]));
        assert_eq!(planned(&[0, 1], |_, run| run.twice = true), Ok(vec![vec![0, 1]]));
        let twice = planned(&[0, 1], |row, run| (row.repeats, run.twice) = (true, true));
        assert_eq!(twice, Ok(vec![vec![0, 0, 1, 1]]));
    }

    #[test]
    fn what_the_runner_cannot_do_is_not_asked_of_it() {
        let with = |order: &[usize], word: &str| {
            planned(order, |row, _| row.order = Some(word.to_owned()))
        };
        assert_eq!(with(&[0, 2], "none"), Ok(vec![vec![0, 2]]));
        assert_eq!(with(&[2, 0], "none"), Err("`A.a` cannot run after `B.a`".to_owned()));
        assert_eq!(with(&[2, 1, 0], "class"), Ok(vec![vec![2, 1, 0]]));
        assert_eq!(with(&[0, 2, 1], "class"), Err("the tests of `A` cannot be parted".to_owned()));
        assert_eq!(planned(&[3], |_, _| ()), Err("there is no test 3".to_owned()));
    }
}
