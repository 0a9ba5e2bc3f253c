//! Draws series of points, with logarithmic axes, as SVG. Used by `main`.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

const COLORS: [RGBColor; 5] = [
    RGBColor(90, 90, 90),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
];

/// The width and the height of a panel.
const SIZE: (u32, u32) = (440, 300);

/// A plot beside others.
#[derive(Debug)]
pub(crate) struct Panel {
    title: String,
    x: &'static str,
    y: &'static str,
    series: Vec<(String, Vec<(f64, f64)>)>,
}

impl Panel {
    /// A plot without series. `x` and `y` are the labels of its axes.
    pub(crate) fn new(title: &str, x: &'static str, y: &'static str) -> Self {
        Self { title: title.to_owned(), x, y, series: Vec::new() }
    }

    /// Adds points to the series of that name.
    pub(crate) fn add(&mut self, name: &str, points: Vec<(f64, f64)>) {
        match self.series.iter_mut().find(|(it, _)| it == name) {
            Some((_, own)) => own.extend(points),
            None => self.series.push((name.to_owned(), points)),
        }
    }

    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    ) -> Result<(), Box<dyn Error>> {
        let points = || self.series.iter().flat_map(|(_, points)| points);
        let least = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::MAX, f64::min);
        let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(0.0, f64::max);
        let ((left, right), (low, high)) =
            ((least(|it| it.0), most(|it| it.0)), (least(|it| it.1), most(|it| it.1)));
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 16))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d((left..right).log_scale(), (low / 1.5..high * 1.5).log_scale())?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (at, (name, points)) in self.series.iter().enumerate() {
            let style = COLORS[at % COLORS.len()].stroke_width(2);
            chart
                .draw_series(LineSeries::new(points.clone(), style).point_size(3))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .border_style(TRANSPARENT)
            .draw()?;
        Ok(())
    }
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
