//! What the mangled name of a kernel says of its parameters: `_Z4axpyPKdPdi` takes pointers to double.
use kerf_num::Format;

/// Formats of what a kernel's parameters point to, by its symbol; empty where the symbol does not say.
pub(super) fn pointee_formats(symbol: &str, params: usize) -> Vec<Option<Format>> {
    let signature = kerf_llvm::demangle(symbol);
    let all = match signature == symbol {
        true => Vec::new(),
        false => arguments(&signature),
    };
    match all.len() == params {
        true => all.iter().map(|t| pointee(t)).collect(),
        false => vec![None; params],
    }
}

/// The types between the last parentheses of a signature.
fn arguments(signature: &str) -> Vec<String> {
    let Some(end) = signature.rfind(')') else {
        return Vec::new();
    };
    let mut depth = 0;
    let start = signature[..=end].char_indices().rev().find_map(|(i, c)| {
        depth += i32::from(c == ')') - i32::from(c == '(');
        (depth == 0).then_some(i)
    });
    let Some(start) = start else {
        return Vec::new();
    };
    let (mut out, mut nested) = (vec![String::new()], 0);
    for c in signature[start + 1..end].chars() {
        nested += i32::from(matches!(c, '<' | '(')) - i32::from(matches!(c, '>' | ')'));
        match out.last_mut() {
            Some(last) if c != ',' || nested > 0 => last.push(c),
            _ => out.push(String::new()),
        }
    }
    out
}

/// The format that a type such as `double const*` or `float4*` points to.
fn pointee(ty: &str) -> Option<Format> {
    let ty = ty.replace("__restrict", "").replace("restrict", "");
    let plain = ty.trim().strip_suffix('*')?;
    let words = plain
        .split(' ')
        .filter(|w| !matches!(*w, "const" | "volatile" | ""));
    let words: Vec<&str> = words.collect();
    let [one] = words.as_slice() else {
        return None;
    };
    match one.trim_end_matches(['2', '3', '4']) {
        "double" => Some(Format::F64),
        "float" => Some(Format::F32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_tell_what_pointers_lead_to() {
        let (d, f) = (Some(Format::F64), Some(Format::F32));
        assert_eq!(
            pointee_formats("_Z11multipliersPKdPdii", 4),
            [d, d, None, None]
        );
        assert_eq!(
            pointee_formats("_Z9heat_stepIfEvPKT_PS0_S0_iii", 6),
            [f, f, None, None, None, None]
        );
        assert_eq!(
            pointee_formats("_Z1kPfPi6float4PS1_", 4),
            [f, None, None, f]
        );
        assert_eq!(pointee_formats("_Z1kPPf", 1), [None]);
        assert_eq!(pointee_formats("softmax", 2), [None, None]);
        assert_eq!(pointee_formats("_Z1kPf", 3), [None, None, None]);
    }
}
