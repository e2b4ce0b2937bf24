//! The table that says which line each machine instruction came from (DWARF 2, `.debug_line`).
use super::elf::Elf;
use std::collections::BTreeMap;

/// A reader of one program.
struct Reader<'d> {
    bytes: &'d [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        self.at += 1;
        self.bytes.get(self.at - 1).copied()
    }
    fn number(&mut self, bytes: usize) -> Option<u64> {
        let mut n = 0;
        for k in 0..bytes {
            n |= u64::from(self.byte()?) << (8 * k);
        }
        Some(n)
    }
    /// A number of seven bits a byte.
    fn unsigned(&mut self) -> Option<u64> {
        self.variable().map(|v| v.0)
    }
    fn signed(&mut self) -> Option<i64> {
        let (v, bits, negative) = self.variable()?;
        match negative && bits < 64 {
            true => Some(v as i64 | -1 << bits),
            false => Some(v as i64),
        }
    }
    fn variable(&mut self) -> Option<(u64, u32, bool)> {
        let (mut v, mut bits) = (0u64, 0);
        loop {
            let b = self.byte()?;
            if bits < 64 {
                v |= u64::from(b & 0x7f) << bits;
            }
            bits += 7;
            if b & 0x80 == 0 {
                return Some((v, bits, b & 0x40 != 0));
            }
        }
    }
}

/// Addresses and lines of a section, in the order of addresses.
type Rows = Vec<(u64, usize)>;

/// Rows by the section that they are of.
pub(super) fn read(elf: &Elf) -> BTreeMap<String, Rows> {
    let mut out = BTreeMap::new();
    let _ = tables(elf, &mut out);
    for rows in out.values_mut() {
        rows.sort_by_key(|r: &(u64, usize)| r.0);
    }
    out
}

/// Sections that addresses of the table are relative to, by place in it.
fn relocations(elf: &Elf) -> BTreeMap<usize, String> {
    let mut out = BTreeMap::new();
    for (name, size) in [(".rela.debug_line", 24), (".rel.debug_line", 16)] {
        let Some(s) = elf.section(name) else { continue };
        for k in 0..s.size / size {
            let at = s.at + k * size;
            if let (Some(place), Some(symbol)) = (elf.number(at, 8), elf.number(at + 12, 4))
                && let Some(section) = elf.symbol_section(symbol as usize)
            {
                out.insert(place as usize, section.to_owned());
            }
        }
    }
    out
}

fn tables(elf: &Elf, out: &mut BTreeMap<String, Rows>) -> Option<()> {
    let section = elf.section(".debug_line")?;
    let of = relocations(elf);
    let mut r = Reader {
        bytes: elf.bytes.get(section.at..section.at + section.size)?,
        at: 0,
    };
    while r.at + 10 < r.bytes.len() {
        let begin = r.at;
        let end = begin + 4 + r.number(4)? as usize;
        let _version = r.number(2)?;
        let header = r.number(4)? as usize;
        let code = r.at + header;
        let (least, _statement) = (u64::from(r.byte()?), r.byte()?);
        let (base, range, first) = (r.byte()? as i8, r.byte()?.max(1), r.byte()?);
        let operands: Vec<u8> = (1..first).map(|_| r.byte()).collect::<Option<_>>()?;
        r.at = code;
        let (mut address, mut line, mut name) = (0u64, 1i64, String::new());
        while r.at < end {
            let op = r.byte()?;
            let mut row = false;
            match op {
                0 => {
                    let size = r.unsigned()? as usize;
                    let next = r.at + size;
                    match r.byte()? {
                        1 => (address, line) = (0, 1),
                        2 => {
                            name = of.get(&r.at).cloned().unwrap_or_default();
                            address = r.number(8)?;
                        }
                        _ => {}
                    }
                    r.at = next;
                }
                1 => row = true,
                2 => address += r.unsigned()? * least,
                3 => line += r.signed()?,
                8 => address += u64::from((255 - first) / range) * least,
                9 => address += r.number(2)?,
                op if op >= first => {
                    let step = op - first;
                    address += u64::from(step / range) * least;
                    line += i64::from(base) + i64::from(step % range);
                    row = true;
                }
                op => {
                    for _ in 0..*operands.get(usize::from(op) - 1)? {
                        r.unsigned()?;
                    }
                }
            }
            if row {
                let rows = out.entry(name.clone()).or_default();
                rows.push((address, line.max(0) as usize));
            }
        }
        r.at = end;
    }
    Some(())
}
