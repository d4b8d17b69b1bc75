//! Returns answers in any order, as many workers would.

use unflake_model::random::Random;
use unflake_model::{Experiment, Observation};

use crate::world::SimSuite;

/// Answers all experiments of a batch, in a random order.
pub fn answer_all(
    sim: &SimSuite,
    mut experiments: Vec<Experiment>,
    random: &mut Random,
) -> Vec<Observation> {
    random.shuffle(&mut experiments);
    experiments.iter().map(|e| sim.observe(e)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::recipe::Recipe;
    use unflake_model::{Environment, Order, Repetition, RunId};

    #[test]
    fn answers_do_not_depend_on_the_order_in_which_they_are_given() {
        let sim = generate(&Recipe::dense(40), 4).unwrap();
        let experiments: Vec<Experiment> = (0..60)
            .map(|run| {
                let mut tests: Vec<_> = sim.suite().tests().collect();
                Random::new(run).shuffle(&mut tests);
                Experiment {
                    environment: match run % 3 {
                        0 => Environment::open_choices(run),
                        _ => Environment::Plain,
                    },
                    repetition: if run % 2 == 0 { Repetition::Once } else { Repetition::Twice },
                    ..Experiment::new(RunId(run), Order::from_distinct(tests))
                }
            })
            .collect();
        let one_by_one: Vec<Observation> = experiments.iter().map(|e| sim.observe(e)).collect();
        let mut answers = answer_all(&sim, experiments, &mut Random::new(9));
        assert_ne!(answers, one_by_one, "they come in another order");
        answers.sort_by_key(|observation| observation.run);
        assert_eq!(answers, one_by_one);
    }
}
