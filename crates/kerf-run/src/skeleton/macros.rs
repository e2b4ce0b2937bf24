//! Block sizes that macros of the source stand for.
use super::draft::BlockSpace;

/// The macros that stand for the sizes of all axes, each the only one that is that number.
pub(super) fn named_sizes<'m>(
    fixed: &[Option<i128>],
    macros: &'m [(String, i64)],
) -> Option<Vec<(&'m str, i128)>> {
    let one = |size: &Option<i128>| {
        let mut all = macros.iter().filter(|m| Some(i128::from(m.1)) == *size);
        let found = all.next().filter(|_| all.next().is_none())?;
        Some((found.0.as_str(), (*size)?))
    };
    fixed.iter().map(one).collect()
}

/// Blocks that are as large as macros say along each axis.
pub(super) fn by_macros(axes: &[&str], names: &[(&str, i128)], most: i128) -> BlockSpace {
    let mut macros = names.to_vec();
    macros.sort_unstable();
    macros.dedup();
    let values = |size: i128| {
        let mut all = vec![size / 4, size / 2, size, size * 2, size * 4];
        let of = |v: i128| v.pow(names.iter().filter(|n| n.1 == size).count() as u32);
        all.retain(|v| *v == size || (*v > 0 && of(*v) <= most));
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        all.join(", ")
    };
    let axes = || axes.iter().zip(names);
    let of_macros = macros.iter().map(|(name, size)| {
        let list = values(*size);
        let note = format!("   # a number of the source, {size} there");
        ((*name).to_owned(), format!("[{list}]{note}"))
    });
    let of_axes =
        axes().map(|(axis, (_, size))| ((*axis).to_owned(), format!("[{}]", values(*size))));
    let parameters = of_macros.chain(of_axes).collect();
    let mut all: Vec<String> = axes().map(|(a, (n, _))| format!("{a} == {n}")).collect();
    let product: Vec<&str> = names.iter().map(|n| n.0).collect();
    let product = product.join(" * ");
    let own: i128 = names.iter().map(|n| n.1).product();
    let least = own.min(32);
    all.extend([
        format!("{product} >= {least}"),
        format!("{product} <= {most}"),
    ]);
    let all: Vec<String> = all.iter().map(|c| format!("\"{c}\"")).collect();
    let constraints = format!("constraints = [{}]", all.join(", "));
    let own = macros.iter().map(|(n, size)| format!("{n} = {size}"));
    let own: Vec<String> = own
        .chain(axes().map(|(a, (_, size))| format!("{a} = {size}")))
        .collect();
    let default = format!("default = {{ {} }}", own.join(", "));
    BlockSpace {
        parameters,
        conditions: vec![constraints, default],
    }
}
