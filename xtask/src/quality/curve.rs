//! A picture of a few curves over a logarithmic axis, as SVG.

use std::fmt::Write as _;

/// A chart to draw.
pub(super) struct Chart {
    pub(super) title: String,
    /// The label of the horizontal axis.
    pub(super) x: String,
    pub(super) lines: Vec<Line>,
}

/// One curve; heights are percent.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// How many points to draw for each curve.
const POINTS_MAX: usize = 120;

const COLOURS: [&str; 7] =
    ["#c1121f", "#e07a5f", "#f2b5a7", "#1d3557", "#457b9d", "#2a9d8f", "#8d99ae"];

impl Chart {
    pub(super) fn svg(&self) -> String {
        let reached = || self.lines.iter().flat_map(|line| &line.points);
        let least = reached().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let most = reached().map(|point| point.0).fold(0.0, f64::max);
        let (from, to) = (least.log10().floor(), most.log10().ceil().max(least.log10() + 1.0));
        let x =
            |seconds: f64| LEFT + (seconds.log10() - from) / (to - from) * (WIDTH - LEFT - RIGHT);
        let y = |percent: f64| HEIGHT - BOTTOM - percent / 100.0 * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" \
             fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"22\" font-size=\"14\">{}</text>\n",
            self.title
        );
        for percent in [0.0, 20.0, 50.0, 80.0, 95.0, 100.0] {
            let (at, end) = (y(percent), WIDTH - RIGHT);
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{end}\" stroke=\"#ddd\"/><text x=\"8\" \
                 y=\"{:.1}\">{percent} %</text>",
                at + 4.0
            );
        }
        let mut decade = from;
        while decade <= to {
            let (at, bottom) = (x(10_f64.powf(decade)), HEIGHT - BOTTOM);
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#eee\"/><text x=\"{at:.1}\" \
                 y=\"{:.1}\" text-anchor=\"middle\">1e{decade}</text>",
                bottom + 16.0
            );
            decade += 1.0;
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            HEIGHT - 12.0,
            self.x
        );
        for (index, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let step = line.points.len().div_ceil(POINTS_MAX).max(1);
            let last = line.points.last().into_iter();
            let points = line.points.iter().step_by(step).chain(last);
            let path: Vec<String> = points
                .map(|(seconds, percent)| format!("{:.1} {:.1}", x(*seconds), y(*percent)))
                .collect();
            let at = TOP + 14.0 * index as f64 + 8.0;
            let _ = writeln!(
                svg,
                "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n<path \
                 d=\"M{} {at}h18\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{}\" \
                 y=\"{}\">{}</text>",
                path.join("L"),
                LEFT + 8.0,
                LEFT + 32.0,
                at + 4.0,
                line.name
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_go_from_left_to_right_and_upwards_within_the_picture() {
        let points = vec![(1.0, 0.0), (10.0, 50.0), (100.0, 100.0)];
        let line = Line { name: "one".to_owned(), points };
        let chart = Chart { title: "t".to_owned(), x: "s".to_owned(), lines: vec![line] };
        let svg = chart.svg();
        assert!(svg.contains("M50.0 370.0L395.0 205.0L740.0 40.0"), "{svg}");
        assert!(svg.contains(">one</text>") && svg.ends_with("</svg>\n"));
    }
}
