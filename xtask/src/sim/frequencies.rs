//! How often orders reveal a test, counted in simulation, against the closed forms.

use unflake_model::{Confidence, Evidence, Experiment, Order, RunId, Tally, TestIndex, Verdict};
use unflake_orders::shuffle::Shuffle;
use unflake_sim::{Recipe, SimSuite, generate, scenario};
use unflake_stats::flake_rate::{Brittle, FlakeRate, OrderSpace, Polluter, Share, Victim};
use unflake_stats::rate::interval;

use crate::table::{render, row};

/// How many orders to draw for each test.
const N_ORDERS: u64 = 4_000;

/// The number of suites whose order-dependent tests are all examined.
const N_SUITES: u64 = 20;

struct Frequency {
    name: String,
    form: FlakeRate,
    fails: Tally,
    reverse_fails: Tally,
}

pub(crate) fn run() -> Vec<String> {
    let mut frequencies = vec![
        measure("spec example 1, A.t1", &scenario::fig_2_1(3).sim, TestIndex::new(0)),
        measure("spec example 2", &scenario::elastic_job(3).sim, TestIndex::new(0)),
    ];
    let hadoop = scenario::hadoop(3);
    frequencies.push(measure("spec example 5 (Hadoop)", &hadoop.sim, hadoop.targets[0]));
    for seed in 0..N_SUITES {
        let recipe = Recipe { group_victims: 0, chains: 0, ..Recipe::order_dependent(60) };
        let sim = generate(&recipe, seed).expect("the recipe is valid");
        for (test, truth) in sim.truth().remarkable() {
            if matches!(truth.verdict, Verdict::OdVictim | Verdict::OdBrittle) {
                frequencies.push(measure(&format!("suite {seed}, test {test}"), &sim, test));
            }
        }
    }
    print(&frequencies);
    let outside = frequencies.iter().filter(|f| !f.is_inside());
    outside.map(|f| format!("{} leaves the interval of its closed form", f.name)).collect()
}

fn measure(name: &str, sim: &SimSuite, test: TestIndex) -> Frequency {
    let form = closed_form(sim, test);
    let mut frequency = Frequency {
        name: name.to_owned(),
        form,
        fails: Tally::default(),
        reverse_fails: Tally::default(),
    };
    for number in 0..N_ORDERS {
        let order = Shuffle::ClassesAndTests.order(sim.suite(), 0, number);
        let ended = ending(sim, &order, test, 2 * number);
        frequency.fails.add(ended);
        if ended == Evidence::Pass {
            frequency.reverse_fails.add(ending(sim, &order.reversed(), test, 2 * number + 1));
        }
    }
    frequency
}

fn closed_form(sim: &SimSuite, test: TestIndex) -> FlakeRate {
    let truth = sim.truth().of(test);
    let single = |group: &Vec<TestIndex>| group[0];
    if truth.verdict == Verdict::OdBrittle {
        let setters: Vec<TestIndex> = truth.dependencies.state_setters.iter().map(single).collect();
        let brittle = Brittle::new(sim.suite(), test, &setters).expect("planted roles are valid");
        return brittle.flake_rate(OrderSpace::ClassCompatible);
    }
    let polluters: Vec<Polluter> = truth
        .dependencies
        .cleaners
        .iter()
        .map(|c| Polluter { test: single(&c.polluters), cleaners: c.cleaners.clone() })
        .collect();
    let victim = Victim::new(sim.suite(), test, &polluters).expect("planted roles are valid");
    victim.flake_rate(OrderSpace::ClassCompatible, 100_000, 0)
}

fn ending(sim: &SimSuite, order: &Order, test: TestIndex, run: u64) -> Evidence {
    let experiment = Experiment::new(
        RunId(run),
        order.truncated_at(test).expect("a whole order holds every test"),
    );
    let last = sim.observe(&experiment).attempts.last().map(|attempt| attempt.outcome);
    last.and_then(unflake_model::Outcome::evidence).expect("the test ran")
}

impl Frequency {
    /// Whether the closed forms are within the exact intervals. Many intervals are checked: each is
    /// so wide that one in a million misses.
    fn is_inside(&self) -> bool {
        let confidence = Confidence::new(1.0 - 1e-6).expect("a probability");
        let is_in = |tally: Tally, share: &Share| {
            tally.attempts == 0 || interval(tally, confidence).contains(share.to_f64())
        };
        let reverse = self.form.reverse_fails.as_ref();
        is_in(self.fails, &self.form.fails)
            && reverse.is_none_or(|share| is_in(self.reverse_fails, share))
    }
}

fn print(frequencies: &[Frequency]) {
    println!(
        "Share of {N_ORDERS} class-compatible orders that fail, and of reverses of passing ones:\n"
    );
    let mut rows = vec![row!["test", "closed form", "seen", "reverse", "seen", ""]];
    for frequency in frequencies.iter().take(8) {
        let share = |share: &Share| match share {
            Share::Exact(fraction) => format!("{fraction} = {:.4}", share.to_f64()),
            Share::Sampled { .. } => format!("{:.4} (sampled)", share.to_f64()),
        };
        rows.push(row![
            frequency.name,
            share(&frequency.form.fails),
            rate(frequency.fails),
            frequency.form.reverse_fails.as_ref().map_or("-".to_owned(), share),
            rate(frequency.reverse_fails),
            if frequency.is_inside() { "inside" } else { "OUTSIDE" }
        ]);
    }
    println!("{}", render(&rows));
    let n_inside = frequencies.iter().filter(|f| f.is_inside()).count();
    println!(
        "{n_inside} of {} tests lie within the intervals of their closed forms.\n",
        frequencies.len()
    );
}

fn rate(tally: Tally) -> String {
    format!("{:.4}", tally.failures as f64 / tally.attempts.max(1) as f64)
}
