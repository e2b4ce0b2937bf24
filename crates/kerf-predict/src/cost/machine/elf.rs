//! Sections and symbols of the ELF file that the assembler writes.
use std::collections::BTreeMap;

fn number(d: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let all = d.get(at..at.checked_add(bytes)?)?;
    Some(all.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

/// A section of an ELF file.
pub(super) struct Section {
    pub name: String,
    pub at: usize,
    pub size: usize,
    link: usize,
}

/// An ELF file.
pub(super) struct Elf<'d> {
    pub bytes: &'d [u8],
    pub sections: Vec<Section>,
}

impl<'d> Elf<'d> {
    pub(super) fn read(d: &'d [u8]) -> Option<Elf<'d>> {
        if !d.starts_with(b"\x7fELF\x02") {
            return None;
        }
        let (table, size) = (number(d, 40, 8)? as usize, number(d, 58, 2)? as usize);
        let (count, names) = (number(d, 60, 2)?, number(d, 62, 2)? as usize);
        let field = |s: usize, offset: usize, bytes| number(d, table + s * size + offset, bytes);
        let names = field(names, 24, 8)? as usize;
        let mut sections = Vec::new();
        for s in 0..count as usize {
            sections.push(Section {
                name: text(d, names + field(s, 0, 4)? as usize)?,
                at: field(s, 24, 8)? as usize,
                size: field(s, 32, 8)? as usize,
                link: field(s, 40, 4)? as usize,
            });
        }
        Some(Elf { bytes: d, sections })
    }
    pub(super) fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|s| s.name == name)
    }
    /// Section of a symbol.
    pub(super) fn symbol_section(&self, symbol: usize) -> Option<&str> {
        let t = self.section(".symtab")?;
        let n = number(self.bytes, t.at + 24 * symbol + 6, 2)? as usize;
        Some(&self.sections.get(n)?.name)
    }
    fn symbol_name(&self, symbol: usize) -> Option<String> {
        let t = self.section(".symtab")?;
        let names = self.sections.get(t.link)?.at;
        text(
            self.bytes,
            names + number(self.bytes, t.at + 24 * symbol, 4)? as usize,
        )
    }
    pub(super) fn number(&self, at: usize, bytes: usize) -> Option<u64> {
        number(self.bytes, at, bytes)
    }
    /// Registers by kernel: attribute 0x2f of `.nv.info`.
    pub(super) fn registers(&self) -> BTreeMap<String, u32> {
        let mut out = BTreeMap::new();
        let Some(s) = self.section(".nv.info") else {
            return out;
        };
        let mut at = s.at;
        while at + 4 <= s.at + s.size {
            let header = (self.number(at, 1), self.number(at + 1, 1));
            let size = self.number(at + 2, 2).unwrap_or(0) as usize;
            if header == (Some(4), Some(0x2f))
                && let (Some(symbol), Some(n)) = (self.number(at + 4, 4), self.number(at + 8, 4))
                && let Some(name) = self.symbol_name(symbol as usize)
            {
                out.insert(name, n as u32);
            }
            at += 4 + if header.0 == Some(4) { size } else { 0 };
        }
        out
    }
}

fn text(d: &[u8], at: usize) -> Option<String> {
    let rest = d.get(at..)?;
    let end = rest.iter().position(|b| *b == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}
