//! Expands `${NAME}` in header values (spec §14.6).

use crate::fault::Fault;

/// Replaces each `${NAME}` in `text` by its `value`. Inserted values are not expanded again.
///
/// # Errors
/// Errors of `value`, and an error for a `${` without its `}`.
pub(super) fn substitute(
    text: &str,
    mut value: impl FnMut(&str) -> Result<String, Fault>,
) -> Result<String, Fault> {
    let mut parts = text.split("${");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) =
            part.split_once('}').ok_or_else(|| Fault::params("a header has `${` without `}`"))?;
        result.push_str(&value(name)?);
        result.push_str(rest);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    // conformance: d11-80
    #[test]
    fn names_are_replaced_once() {
        let value = |name: &str| match name {
            "A" => Ok("1".to_owned()),
            "B" => Ok("${A}".to_owned()),
            _ => Err(Fault::denied(name)),
        };
        for (text, expected) in [
            ("", Ok("")),
            ("$A {A} $", Ok("$A {A} $")),
            ("x${A}y${A}", Ok("x1y1")),
            ("${B}", Ok("${A}")),
            ("${C}", Err("C")),
            ("${}", Err("")),
            ("${A", Err("a header has `${` without `}`")),
        ] {
            let result = substitute(text, value).map_err(|fault| fault.message);
            assert_eq!(
                result,
                expected.map(ToOwned::to_owned).map_err(ToOwned::to_owned),
                "{text}"
            );
        }
    }
}
