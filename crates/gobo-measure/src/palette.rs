//! Colours of series that people tell apart, colour-blind or not, on a light page and on a dark one.
//!
//! They are those of Okabe and Ito (*Color Universal Design*, 2008) but for black and yellow, which a page swallows. A picture with
//! more series than colours is cut into panels, so that no colour stands twice in one of them.

/// The colours, in the order in which series take them.
pub const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// What is not a contestant: floors, copies.
pub const REFERENCE: &str = "#808080";

/// The page of a picture, light and dark.
pub const PAGES: [&str; 2] = ["#ffffff", "#0d1117"];

/// The colour of the nth series. They begin again after [`COLOURS`].
///
/// ```
/// use gobo_measure::palette::{COLOURS, colour};
///
/// assert_eq!(colour(1), COLOURS[1]);
/// assert_eq!(colour(COLOURS.len()), COLOURS[0]);
/// ```
pub fn colour(nth: usize) -> &'static str {
    COLOURS[nth % COLOURS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The channels of `#rrggbb`, without the gamma of sRGB.
    fn linear(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let channel = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if channel <= 0.040_45 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// WCAG 2.1, *contrast ratio*.
    fn contrast(one: &str, other: &str) -> f64 {
        let luminance = |colour| {
            let [red, green, blue] = linear(colour);
            0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        };
        let (one, other) = (luminance(one), luminance(other));
        one.max(other) / one.min(other)
    }

    #[test]
    fn every_colour_stands_out_on_both_pages() {
        for colour in COLOURS.iter().chain([&REFERENCE]) {
            for page in PAGES {
                assert!(contrast(colour, page) > 2.0, "{colour} on {page}: {}", contrast(colour, page));
            }
        }
    }

    /// Machado, Oliveira, Fernandes (2009): what is seen of linear RGB without one sort of cones, at full severity.
    #[test]
    fn no_two_colours_look_alike_without_a_sort_of_cones() {
        const SEEN: [[[f64; 3]; 3]; 4] = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ];
        for seen in SEEN {
            let look = |colour| {
                let rgb = linear(colour);
                seen.map(|row: [f64; 3]| {
                    let light = row.iter().zip(rgb).map(|(a, b)| a * b).sum::<f64>().clamp(0.0, 1.0);
                    light.powf(1.0 / 2.4)
                })
            };
            for (at, one) in COLOURS.iter().enumerate() {
                for other in &COLOURS[at + 1..] {
                    let squares =
                        look(one).iter().zip(look(other)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                    assert!(squares.sqrt() > 0.1, "{one} and {other}: {}", squares.sqrt());
                }
            }
        }
    }
}
