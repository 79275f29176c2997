//! Frames of the redo log: all that belongs together, replayed wholly or not at all. A frame's checksum is seeded with
//! its own LSN, so what an earlier round left in the file is never taken for a frame.

/// Bytes in front of a frame: length and checksum.
pub const FRAME_HEADER: usize = 8;

/// Checksum of a frame that begins at `lsn`.
pub fn frame_checksum(lsn: u64, payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&lsn.to_le_bytes()), payload)
}

/// Length of the frame that begins here, if it is whole.
pub fn whole_frame(bytes: &[u8], lsn: u64) -> Option<usize> {
    let len = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let sum = u32::from_le_bytes(bytes.get(4..FRAME_HEADER)?.try_into().ok()?);
    let payload = bytes.get(FRAME_HEADER..FRAME_HEADER.checked_add(len)?)?;
    (len > 0 && sum == frame_checksum(lsn, payload)).then_some(FRAME_HEADER + len)
}

/// The frames in bytes that `read_frames` has checked: LSN, end LSN and payload of each.
pub fn frames_in(bytes: &[u8], from: u64) -> impl Iterator<Item = (u64, u64, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let len = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize;
        let start = at;
        at += FRAME_HEADER + len;
        Some((from + start as u64, from + at as u64, &bytes[start + FRAME_HEADER..at]))
    })
}
