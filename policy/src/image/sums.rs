//! What is summed up in an image: names of edges, and the image itself.

/// The hash of an edge: FNV-1a over the component, seeded with the parent.
pub(crate) fn edge_hash(parent: u32, name: &[u8]) -> u32 {
    let seed = 0x811c_9dc5 ^ parent.wrapping_mul(0x9e37_79b1);
    name.iter().fold(seed, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A checksum against damage, not against an adversary: the memfd's seals are for those.
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

const fn mix(lane: u64, word: u64) -> u64 {
    (lane ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(29)
}
