//! The line table of machine code: which line each instruction came from (DWARF 2, `.debug_line`).
use gimli::{DebugLine, DebugLineOffset, LittleEndian};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use std::collections::BTreeMap;

/// Addresses and lines of each section by its index, in the order of addresses.
pub(super) type LineTable = BTreeMap<usize, Vec<(u64, usize)>>;

/// Bits of an address in a section; the section's number is above them.
const ADDRESS_BITS: u32 = 40;

/// Rows of the table up to where it can be read.
pub(super) fn read(elf: &ElfFile64) -> LineTable {
    let mut out = LineTable::new();
    let _ = read_rows(elf, &mut out);
    for rows in out.values_mut() {
        rows.sort_by_key(|r| r.0);
    }
    out
}

fn read_rows(elf: &ElfFile64, out: &mut LineTable) -> Option<()> {
    let section = elf.section_by_name(".debug_line")?;
    let mut data = section.data().ok()?.to_vec();
    // Addresses are relative to sections: their numbers are put above the addresses.
    for (offset, relocation) in section.relocations() {
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            continue;
        };
        let section = elf.symbol_by_index(symbol).ok()?.section_index()?;
        let address = data.get_mut(offset as usize..offset as usize + 8)?;
        let number = (section.0 as u64) << ADDRESS_BITS;
        address.copy_from_slice(&(number + relocation.addend() as u64).to_le_bytes());
    }
    let (table, mut start) = (DebugLine::new(&data, LittleEndian), 0);
    while start < data.len() {
        let program = table.program(DebugLineOffset(start), 8, None, None).ok()?;
        start += program.header().unit_length() + 4;
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row().ok()? {
            let section = (row.address() >> ADDRESS_BITS) as usize;
            let address = row.address() & ((1 << ADDRESS_BITS) - 1);
            if !row.end_sequence() {
                let line = row.line().map_or(0, |l| l.get() as usize);
                out.entry(section).or_default().push((address, line));
            }
        }
    }
    Some(())
}
