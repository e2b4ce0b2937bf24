//! Figures as text: the number, and a mark that says where it comes from.
use kerf_device::picture::short_number;
use kerf_device::profile::{DeviceProfile, Figure, FigureSource};

/// What stands where nothing is known.
pub const UNKNOWN: &str = "-";

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
            Some(v) => format!("{} {}", short_number(v), self.mark(&f.source)),
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
