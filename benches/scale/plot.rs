//! Draws series of points, with logarithmic axes, as SVG. Used by `main`.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

/// The colour of each series, the same in all plots.
const COLORS: [(&str, RGBColor); 5] = [
    ("bare", RGBColor(90, 90, 90)),
    ("cooperative", RGBColor(0, 114, 178)),
    ("layered", RGBColor(213, 94, 0)),
    ("strict", RGBColor(0, 158, 115)),
    ("bubblewrap", RGBColor(204, 121, 167)),
];

/// The width and the height of a panel.
const SIZE: (u32, u32) = (440, 300);

/// At most so many labels to an axis, so that only powers of ten have one.
const DECADES: usize = 7;

/// A plot beside others.
#[derive(Debug)]
pub(crate) struct Panel {
    title: &'static str,
    x: &'static str,
    y: &'static str,
    series: Vec<(String, Vec<(f64, f64)>)>,
}

impl Panel {
    /// A plot without series. `x` and `y` are the labels of its axes.
    pub(crate) fn new(title: &'static str, x: &'static str, y: &'static str) -> Self {
        Self { title, x, y, series: Vec::new() }
    }

    /// Adds a point to the series of that name.
    pub(crate) fn add(&mut self, name: &str, x: f64, y: f64) {
        match self.series.iter_mut().find(|(it, _)| it == name) {
            Some((_, points)) => points.push((x, y)),
            None => self.series.push((name.to_owned(), vec![(x, y)])),
        }
    }

    /// A row of the table: for each series, what it was for the smallest number and for the largest.
    pub(crate) fn row(&self, series: &[&str]) -> Vec<String> {
        let cell = |name: &&str| {
            let own = self.series.iter().find(|(it, _)| it == name);
            own.map(|(_, points)| span(points.iter().map(|point| point.1))).unwrap_or_default()
        };
        let numbers = self.series.iter().flat_map(|(_, points)| points).map(|point| point.0);
        let least = numbers.clone().fold(f64::MAX, f64::min);
        let growing = format!("{}: {}", self.x, span([least, numbers.fold(0.0, f64::max)]));
        let measured = format!("{}, {}", self.title, self.y);
        [growing, measured].into_iter().chain(series.iter().map(cell)).collect()
    }

    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>> {
        let points = || self.series.iter().flat_map(|(_, points)| points);
        let x = decades(points().map(|point| point.0)).log_scale();
        let y = decades(points().map(|point| point.1));
        // The legend stands in a power of ten that has no values.
        let y = (y.start..y.end * 10.0).log_scale();
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 16))
            .margin(8)
            .margin_right(24)
            .x_label_area_size(36)
            .y_label_area_size(48)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(self.x)
            .y_desc(self.y)
            .x_labels(DECADES)
            .y_labels(DECADES)
            .x_label_formatter(&f64::to_string)
            .y_label_formatter(&f64::to_string)
            .draw()?;
        for (name, points) in &self.series {
            let (_, color) = COLORS.into_iter().find(|(it, _)| it == name).ok_or("no colour")?;
            let style = color.stroke_width(2);
            chart
                .draw_series(LineSeries::new(points.clone(), style).point_size(3))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .draw()?;
        Ok(())
    }
}

/// The first value and the last one, rounded.
fn span(values: impl IntoIterator<Item = f64>) -> String {
    let values: Vec<f64> = values.into_iter().collect();
    let show = |value: f64| {
        if value < 100.0 && value.fract() != 0.0 { format!("{value:.1}") } else { grouped(value) }
    };
    match values[..] {
        [first, .., last] => format!("{} → {}", show(first), show(last)),
        _ => values.into_iter().map(show).collect(),
    }
}

/// A whole number with commas.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|it| str::from_utf8(it).expect("digits")).collect();
    groups.join(",")
}

/// The powers of ten around all values.
fn decades(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) =
        values.map(f64::log10).fold((f64::MAX, f64::MIN), |(l, h), it| (l.min(it), h.max(it)));
    let low = low.floor();
    10_f64.powf(low)..10_f64.powf(high.ceil().max(low + 1.0))
}

/// Writes `docs/scale/NAME.svg`.
pub(crate) fn write(name: &str, panels: &[Panel]) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scale");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{name}.svg"));
    let columns = panels.len().min(2);
    let rows = panels.len().div_ceil(2);
    let size = (SIZE.0 * u32::try_from(columns)?, SIZE.1 * u32::try_from(rows)?);
    let area = SVGBackend::new(&file, size).into_drawing_area();
    area.fill(&WHITE)?;
    for (panel, area) in panels.iter().zip(area.split_evenly((rows, columns))) {
        panel.draw(&area)?;
    }
    area.present()?;
    Ok(())
}
