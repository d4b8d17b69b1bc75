//! What tests change, and what comes of putting it back.

use unflake_model::{Look, Restore, StateLook};

use crate::common::{Ran, run_watched, shop, start};
use crate::{FAILED, PASSED};

fn all() -> Look {
    Look::at_state(StateLook::all())
}

fn restoring(before: usize, items: &[&str]) -> Look {
    let items = items.iter().map(|item| (*item).to_owned()).collect();
    let restore = Some(Restore { before, items, all_but: false });
    Look { restore, ..Look::NOTHING }
}

fn all_but(before: usize, items: &[&str]) -> Look {
    let mut look = restoring(before, items);
    look.restore.as_mut().unwrap().all_but = true;
    look
}

/// The changes of an attempt, as `kind where: before -> after`.
fn told(ran: &Ran, attempt: usize) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
    let mut told: Vec<String> = ran.changes[attempt]
        .iter()
        .map(|c| {
            format!("{} {}: {} -> {}", c.kind.slug(), c.place, text(&c.before), text(&c.after))
        })
        .collect();
    told.sort();
    told
}

#[test]
fn the_polluters_field_is_told_and_putting_it_back_lets_the_victim_pass() {
    for module in ["old", "new"] {
        let prepared = shop().prepare(module);
        let mut engine = start(&prepared);
        let pair = ["CheckoutTest#paysInDollars", "AmountTest#isShownInEuro"];
        let ran = run_watched(&mut engine, &pair, all());
        assert_eq!(ran.outcomes(), [PASSED, FAILED], "{module}");
        let changed = "static-field com.acme.Settings.currency: \"EUR\" -> \"USD\"";
        assert_eq!(told(&ran, 0), [changed], "{module}");
        assert_eq!(told(&ran, 1), [""; 0], "{module}");
        let field = "com.acme.Settings.currency";
        let ran = run_watched(&mut engine, &pair, restoring(1, &[field]));
        assert_eq!(ran.outcomes(), [PASSED, PASSED], "{module}");
        assert_eq!(ran.restored.items, [field], "{module}");
        let ran = run_watched(&mut engine, &pair, restoring(1, &["com.acme.Settings.VISITS"]));
        assert_eq!(ran.outcomes(), [PASSED, FAILED], "{module}");
        assert_eq!(ran.restored.failed[0].1, "it had not changed", "{module}");
    }
}

#[test]
fn what_a_state_setter_leaves_is_kept_or_not() {
    let prepared = shop().prepare("old");
    let mut engine = start(&prepared);
    let pair = ["CatalogTest#loads", "CatalogTest#findsBook"];
    let ran = run_watched(&mut engine, &pair, all_but(1, &[]));
    assert_eq!(ran.outcomes(), [PASSED, FAILED]);
    assert_eq!(ran.restored.items, ["com.acme.Settings.BOOKS.get(\"isbn\")"]);
    let kept = all_but(1, &["com.acme.Settings.BOOKS.get(\"isbn\")"]);
    assert_eq!(run_watched(&mut engine, &pair, kept).outcomes(), [PASSED, PASSED]);
}

#[test]
fn state_of_each_shape_is_told_by_the_name_the_language_has_for_it() {
    let prepared = shop().prepare("state");
    let mut engine = start(&prepared);
    let names = ["isClean", "changesFields", "changesContents", "changesTheProcess"];
    let names = [&names[..], &["nothingIsAskedAnything"]].concat();
    let names: Vec<String> = names.iter().map(|name| format!("StateTest#{name}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let ran = run_watched(&mut engine, &names, all());
    assert_eq!(ran.outcomes(), [PASSED; 5], "{:?}", ran.failures);
    let of = |attempt| told(&ran, attempt).join("\n");
    assert_eq!(of(0), "");
    insta::assert_snapshot!(of(1), @r#"
    static-field com.acme.World.Color.GREEN.uses: 0 -> 1
    static-field com.acme.World.ENTRIES.get("touchy").mood: "calm" -> "angry"
    static-field com.acme.World.TOUCHY.mood: "calm" -> "angry"
    static-field com.acme.World.names: ["a", "b"] -> ["a", "c"]
    static-field com.acme.World.number: 1 -> 2
    "#);
    insta::assert_snapshot!(of(2), @r#"
    static-field com.acme.World.COUNT.get(): 0 -> 5
    static-field com.acme.World.ENTRIES.get("added"): nothing -> 7
    static-field com.acme.World.ENTRIES.get("kept"): "old" -> "new"
    static-field com.acme.World.ENTRIES.get(Color.RED): 1 -> nothing
    static-field com.acme.World.GUARDED: [] -> ["item"]
    static-field com.acme.World.LOCAL.get(): nothing -> "mine"
    static-field com.acme.World.LOG: "begun" -> "begun and ended"
    static-field com.acme.World.NUMBERS: [1, 2, 3] -> [1, 20, 3]
    static-field com.acme.World.TAGS: ["x", "y"] -> ["x", "y", "z"]
    static-field com.acme.World.WORDS[0]: "one" -> "ONE"
    "#);
    insta::assert_snapshot!(of(3), @r#"
    interpreter System.out: <java.io.PrintStream> -> <java.io.PrintStream>
    locale Locale.getDefault(): en_US -> de_DE
    property System.getProperty("acme.added"): nothing -> "yes"
    property System.getProperty("acme.given"): "yes" -> nothing
    thread Thread "left": nothing -> alive, a daemon
    timezone TimeZone.getDefault(): UTC -> Asia/Tokyo
    "#);
    assert_eq!(of(4), "");
}

#[test]
fn state_of_each_shape_is_put_back() {
    let prepared = shop().prepare("state");
    let mut engine = start(&prepared);
    for (polluter, failed) in [
        ("changesFields", &[][..]),
        ("changesContents", &[]),
        ("changesTheProcess", &["Thread \"left\""]),
    ] {
        let names = [&*format!("StateTest#{polluter}"), "StateTest#findsAllAsItWas"];
        assert_eq!(run_watched(&mut engine, &names, all()).outcomes(), [PASSED, FAILED]);
        let ran = run_watched(&mut engine, &names, all_but(1, &[]));
        assert_eq!(ran.outcomes(), [PASSED, PASSED], "{polluter}: {:?}", ran.failures);
        let places: Vec<&str> =
            ran.restored.failed.iter().map(|(place, _)| place.as_str()).collect();
        assert_eq!(places, failed, "{polluter}");
    }
}
