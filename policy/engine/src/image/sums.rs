//! Computes hashes of edge names and the checksum of an image.

/// The hash of an edge, from the parent and the component, word by word.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is mixed as well as the upper")]
pub(crate) fn edge_hash(parent: u32, name: &[u8]) -> u32 {
    let seed = u64::from(parent) << 32 | name.len() as u64;
    let (words, rest) = name.as_chunks::<8>();
    let hash = words.iter().fold(seed, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let rest = match (rest.first_chunk(), rest.last_chunk()) {
        // They may overlap.
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    };
    mix(hash, rest) as u32
}

/// The hash of an edge with a folded name, after one more byte of it. The hash begins as the number of the parent.
pub(crate) const fn folded_edge_hash(hash: u32, byte: u8) -> u32 {
    hash.wrapping_mul(0x0100_0193) ^ byte as u32
}

/// A checksum against damage, not against an adversary. The memfd's seals protect against those.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut lanes = [0x9e37_79b9_7f4a_7c15_u64, 1, 2, 3];
    let (chunks, rest) = bytes.as_chunks::<32>();
    for chunk in chunks {
        let (words, _) = chunk.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = mix(*lane, u64::from_le_bytes(*word));
        }
    }
    for &byte in rest {
        lanes[0] = mix(lanes[0], u64::from(byte));
    }
    lanes.into_iter().fold(bytes.len() as u64, mix)
}

/// A digest after one more word.
pub(crate) const fn mix(lane: u64, word: u64) -> u64 {
    (lane ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(29)
}
