//! Figures as text: the number, and a mark that says where it comes from.
use kerf_device::profile::{DeviceProfile, Figure, FigureSource};

/// What stands where nothing is known.
pub const UNKNOWN: &str = "-";

/// A number in few characters: whole ones as they are, others to three digits.
pub fn number(v: f64) -> String {
    let size = v.abs();
    if v == 0.0 || (v.fract() == 0.0 && size < 1e9) {
        format!("{v}")
    } else if (1e-3..1e6).contains(&size) {
        let digits = (2 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{v:.digits$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    } else {
        format!("{v:.2e}")
    }
}

/// The marks of a profile: `m` for measured, `p1`, `p2`, ... for its publications.
pub struct Marks<'a> {
    profile: &'a DeviceProfile,
}

impl<'a> Marks<'a> {
    /// Of a profile.
    pub fn new(profile: &'a DeviceProfile) -> Marks<'a> {
        Marks { profile }
    }

    /// The mark of a source.
    pub fn mark(&self, s: &FigureSource) -> String {
        match s {
            FigureSource::Measured => "m".into(),
            FigureSource::Published(key) => {
                let at = self.profile.sources.keys().position(|k| k == key);
                at.map_or("p".into(), |i| format!("p{}", i + 1))
            }
            FigureSource::Unknown => String::new(),
        }
    }

    /// A figure with its mark.
    pub fn figure(&self, f: &Figure) -> String {
        match f.value {
            Some(v) => format!("{} {}", number(v), self.mark(&f.source)),
            None => UNKNOWN.into(),
        }
    }

    /// What the marks mean, one line each.
    pub fn legend(&self) -> String {
        let mut out = String::from("  m   measured by Kerf on this device\n");
        for (i, p) in self.profile.sources.values().enumerate() {
            out += &format!("  {:<3} published: {}", format!("p{}", i + 1), p.title);
            if let Some(url) = &p.url {
                out += &format!("\n      {url}");
            }
            out.push('\n');
        }
        out + &format!("  {UNKNOWN}   unknown\n")
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (128.0, "128"),
            (65536.0, "65536"),
            (6.4, "6.4"),
            (4.923_076, "4.92"),
            (100.04, "100"),
            (1234.5, "1234"),
            (0.0625, "0.0625"),
            (2.3433e-8, "2.34e-8"),
            (3.352e12, "3.35e12"),
            (-0.5, "-0.5"),
        ];
        for (v, text) in cases {
            assert_eq!(number(v), text);
        }
    }
}
