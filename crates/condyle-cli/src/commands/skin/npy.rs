//! NumPy's array files, format version 1.0: a short text header, then the numbers.

use std::io::{self, Write};

/// Writes a two-dimensional little-endian f32 array of `N` columns.
pub(crate) fn write_npy<const N: usize>(out: &mut dyn Write, rows: &[[f32; N]]) -> io::Result<()> {
    const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    let shape = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {N}), }}", rows.len());
    // Magic, length, header and the line feed at its end together take a multiple of 64 bytes.
    let fixed = MAGIC.len() + 2 + 1;
    let length = (fixed + shape.len()).next_multiple_of(64) - fixed;
    out.write_all(MAGIC)?;
    out.write_all(&(length as u16 + 1).to_le_bytes())?;
    writeln!(out, "{shape:<length$}")?;
    rows.as_flattened().iter().try_for_each(|x| out.write_all(&x.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_numpys() {
        let mut file = vec![];
        write_npy(&mut file, &[[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]).unwrap();
        assert_eq!(&file[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert!(file[10..].starts_with(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  "));
        assert_eq!(file[127], b'\n');
        assert_eq!(file.len(), 128 + 24);
        assert_eq!(file[148..], 6.5_f32.to_le_bytes());
    }
}
