//! How long will it take? Said only where it can be known.
//!
//! Two things are to be done: the orders that are wanted, and looking into every test that is
//! suspected. What an order costs is known after a few; what a suspicion costs, once one has been
//! looked into. The sum, at the pace so far, gives a time at which it will be over. That time is
//! told only while it stays where it is; what was told once stays until it is far off, and when it
//! was too early twice, nothing is told any more: an estimate that moves away as fast as one comes
//! closer says nothing, and is not said.

use std::collections::VecDeque;
use std::time::Duration;

use unflake_campaign::logbook::Standing;
use unflake_report::span;

use super::Goal;

/// Orders before a pace is known.
const ORDERS_MIN: u64 = 3;
/// Estimates must agree for this long at least.
const AGREE_MIN: Duration = Duration::from_secs(3);
/// Estimates of the time left agree if the longest is at most so many times the shortest,
const AGREE_RATIO: f64 = 2.2;
/// or at most so much longer.
const AGREE_APART: Duration = Duration::from_secs(5);
/// How often what was told may turn out to be too early, before nothing is told any more.
const RAISED_MAX: u32 = 1;
/// Estimates that are kept: enough to look back at any pace.
const KEPT_MAX: u32 = 200;

/// When it will be over, as far as is known. Times are counted from when the search began.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// When it was estimated, and what.
    ends: VecDeque<(Duration, Duration)>,
    /// What was told, as long as it holds.
    told: Option<Duration>,
    n_raised: u32,
    is_done: bool,
}

impl Estimate {
    /// A run is over.
    pub(super) fn observe(&mut self, standing: &Standing, goal: &Goal, now: Duration) {
        let left = work_left(standing, goal);
        self.is_done = left == Some(Duration::ZERO);
        // What workers spend together in a second of the clock.
        let pace = now.as_secs_f64() / standing.spent.time.as_secs_f64();
        let end = left.map(|left| now.as_secs_f64() + left.as_secs_f64() * pace);
        match end.and_then(|end| Duration::try_from_secs_f64(end).ok()) {
            Some(end) => self.add(now, end),
            None => self.ends.clear(),
        }
        self.tell(now);
    }

    /// Keeps what was told as long as it is near, and not for ever what never is.
    fn tell(&mut self, now: Duration) {
        let Some(end) = self.agreed(now) else { return };
        let is_near = |told: Duration| told.abs_diff(end) <= end.saturating_sub(now) / 2;
        if self.told.is_some_and(is_near) {
            return;
        }
        self.n_raised += u32::from(self.told.is_some_and(|told| told < end));
        self.told = Some(end);
    }

    fn add(&mut self, now: Duration, end: Duration) {
        let step = look_back(now) / KEPT_MAX;
        if self.ends.back().is_none_or(|(when, _)| step <= now.saturating_sub(*when)) {
            self.ends.push_back((now, end));
        }
        let since = now.saturating_sub(look_back(now));
        // The last one before that stays: it says that there was one.
        while self.ends.get(1).is_some_and(|(when, _)| *when <= since) {
            self.ends.pop_front();
        }
    }

    /// What is said about the time left, with so much left of a budget.
    pub(super) fn left(&self, now: Duration, budget: Option<Duration>) -> Option<String> {
        let is_told = self.n_raised <= RAISED_MAX && self.agreed(now).is_some();
        let told = self.told.filter(|_| is_told).map(|end| end.saturating_sub(now));
        match (told, budget) {
            _ if self.is_done => None,
            (Some(left), Some(budget)) if budget < left => Some(at_most(budget)),
            (Some(left), _) => Some(about(left)),
            (None, Some(budget)) => Some(at_most(budget)),
            (None, None) => None,
        }
    }

    /// The end that estimates agree on, if they do.
    fn agreed(&self, now: Duration) -> Option<Duration> {
        let (first, _) = self.ends.front()?;
        if now.saturating_sub(*first) < look_back(now) {
            return None;
        }
        let lefts = || self.ends.iter().map(|(_, end)| end.saturating_sub(now));
        let (least, most) = (lefts().min()?, lefts().max()?);
        let n = u32::try_from(self.ends.len()).ok()?;
        let mean = lefts().sum::<Duration>() / n;
        let is_agreed = most <= least.mul_f64(AGREE_RATIO).max(least + AGREE_APART);
        is_agreed.then_some(now + mean)
    }
}

/// How far back estimates must agree.
fn look_back(now: Duration) -> Duration {
    (now / 5).max(AGREE_MIN)
}

/// What is left to do, in time of workers; `None` where something of it has no price yet.
fn work_left(standing: &Standing, goal: &Goal) -> Option<Duration> {
    let n_made = standing.n_orders - standing.n_orders_recalled;
    let n_left = goal.orders?.saturating_sub(standing.n_orders);
    let n_open = standing.n_suspected.saturating_sub(standing.n_found);
    let times = |time: Duration, n: u64| time.saturating_mul(u32::try_from(n).unwrap_or(u32::MAX));
    let orders = match (n_left, n_made) {
        (0, _) => Duration::ZERO,
        (_, ..ORDERS_MIN) => return None,
        (n_left, n_made) => times(standing.order_time, n_left) / u32::try_from(n_made).ok()?,
    };
    let looked = standing.spent.time.saturating_sub(standing.order_time);
    let suspects = match (n_open, standing.n_found) {
        (0, _) => Duration::ZERO,
        (_, 0) => return None,
        (n_open, n_found) => times(looked, n_open as u64) / u32::try_from(n_found).ok()?,
    };
    Some(orders + suspects)
}

fn about(left: Duration) -> String {
    match left.as_secs() {
        0..10 => "a few seconds left".to_owned(),
        _ => format!("about {} left", round(left)),
    }
}

fn at_most(left: Duration) -> String {
    format!("at most {} left", round(left))
}

/// As a person would say it: no seconds beside minutes, no single minutes beside hours.
fn round(time: Duration) -> String {
    let unit = match time.as_secs() {
        0..10 => 1,
        10..60 => 10,
        60..3600 => 60,
        _ => 600,
    };
    span(Duration::from_secs(time.as_secs().div_ceil(unit) * unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use unflake_model::Spent;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// What was told at each moment of a search.
    fn told(events: &[(f64, Standing)], goal: Goal) -> Vec<Option<String>> {
        let mut estimate = Estimate::default();
        let tell = |(now, standing): &(f64, Standing)| {
            let now = seconds(*now);
            estimate.observe(standing, &goal, now);
            estimate.left(now, goal.time.map(|time| time.saturating_sub(now)))
        };
        events.iter().map(tell).collect()
    }

    fn standing(n_orders: u64, order_time: f64, spent: f64, suspects: (usize, usize)) -> Standing {
        let spent = Spent { runs: 0, attempts: 0, time: seconds(spent) };
        let (n_suspected, n_found) = suspects;
        let order_time = seconds(order_time);
        Standing { spent, n_orders, order_time, n_suspected, n_found, ..Standing::default() }
    }

    const GOAL: Goal = Goal { orders: Some(59), confidence: None, time: None };

    #[test]
    fn a_steady_search_is_foreseen_and_the_time_left_only_shrinks() {
        // An order a second.
        let events: Vec<_> =
            (1..=59).map(|n| (n as f64, standing(n, n as f64, n as f64, (0, 0)))).collect();
        let told = told(&events, GOAL);
        assert!(told[..5].iter().all(Option::is_none), "{told:?}");
        let at = |n: usize| told[n - 1].as_deref();
        assert_eq!(at(12), Some("about 50 s left"));
        assert_eq!(at(30), Some("about 30 s left"));
        assert_eq!(at(52), Some("a few seconds left"));
        assert_eq!(at(59), None, "nothing is left when it is done");
    }

    #[test]
    fn what_has_no_price_yet_is_not_foreseen() {
        // All orders are run, one suspect is being looked into, nobody knows how long that takes.
        let events: Vec<_> =
            (0..40).map(|n| (f64::from(n), standing(59, 10.0, f64::from(n), (1, 0)))).collect();
        assert!(told(&events, GOAL).iter().all(Option::is_none));
        // With a budget, that bounds it.
        let goal = Goal { time: Some(seconds(60.0)), ..GOAL };
        assert_eq!(told(&events, goal)[35].as_deref(), Some("at most 30 s left"));
    }

    #[test]
    fn an_estimate_that_moves_away_is_corrected_once_and_then_not_told_any_more() {
        // Each order takes longer than the one before, so the end moves away all the time.
        let mut now = 0.0;
        let events: Vec<_> = (1..=30)
            .map(|n| {
                now += 1.3_f64.powi(i32::try_from(n).unwrap());
                (now, standing(n, now, now, (0, 0)))
            })
            .collect();
        let told = told(&events, GOAL);
        let first = told.iter().flatten().next().unwrap();
        assert_eq!(first, "about 2 min left");
        assert!(told[15..].iter().all(Option::is_none), "{told:?}");
    }

    /// The search in the example project, as it went: when, orders, worker seconds for them and in
    /// all, suspects, findings.
    const RECORDED: &str = include_str!("recorded.txt");

    #[test]
    fn in_a_recorded_search_what_is_told_is_true_within_a_factor_of_two() {
        let events: Vec<(f64, Standing)> = RECORDED
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| {
                let mut words = line.split(' ');
                let mut number = || -> f64 { words.next().unwrap().parse().unwrap() };
                let (now, _) = (number(), number());
                let (order_time, spent) = (number(), number());
                let mut count = line.split(' ').map(|it| it.parse().unwrap_or(0));
                let n_orders = count.nth(1).unwrap();
                let suspects = (count.nth(2).unwrap(), count.next().unwrap());
                let suspects = (suspects.0.try_into().unwrap(), suspects.1.try_into().unwrap());
                (now, standing(n_orders, order_time, spent, suspects))
            })
            .collect();
        let end = events.last().unwrap().0;
        let goal = Goal { orders: events.last().map(|(_, it)| it.n_orders), ..GOAL };
        let mut estimate = Estimate::default();
        let (mut n_told, mut previous) = (0, f64::MAX);
        for (now, standing) in &events {
            estimate.observe(standing, &goal, seconds(*now));
            if estimate.left(seconds(*now), None).is_none() {
                continue;
            }
            let told = estimate.told.unwrap();
            let (left, truth) = (told.as_secs_f64() - now, end - now);
            assert!(left <= 2.0 * truth + 10.0, "{left:.0} s said, {truth:.0} s to go at {now}");
            assert!(truth <= 2.0 * left + 10.0, "{left:.0} s said, {truth:.0} s to go at {now}");
            assert!(left <= previous * 1.5 + 10.0, "from {previous:.0} to {left:.0} s at {now}");
            (n_told, previous) = (n_told + 1, left);
        }
        assert!(0 < n_told, "something was foreseen");
        let last = estimate.left(seconds(end), None);
        assert_eq!(last, None, "nothing is left at the end");
    }

    #[test]
    fn times_are_rounded_as_a_person_would() {
        let cases =
            [(7, "7 s"), (33, "40 s"), (61, "2 min"), (3540, "59 min"), (4000, "1 h 10 min")];
        for (time, said) in cases {
            assert_eq!(round(Duration::from_secs(time)), said);
        }
    }
}
