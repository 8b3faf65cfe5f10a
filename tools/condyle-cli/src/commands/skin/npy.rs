//! NumPy's array files, format version 1.0: a short text header, then the numbers.

use std::io::{self, Write};

/// Writes the header of an array of little-endian f32 numbers, of at least two dimensions. The numbers
/// follow, and the last dimension varies fastest.
pub(crate) fn write_header(out: &mut dyn Write, shape: &[usize]) -> io::Result<()> {
    const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
    let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape.join(", "));
    // Magic, length, header and the line feed at its end together take a multiple of 64 bytes.
    let fixed = MAGIC.len() + 2 + 1;
    let length = (fixed + text.len()).next_multiple_of(64) - fixed;
    out.write_all(MAGIC)?;
    out.write_all(&(length as u16 + 1).to_le_bytes())?;
    writeln!(out, "{text:<length$}")
}

pub(crate) fn write_numbers(out: &mut dyn Write, numbers: &[f32]) -> io::Result<()> {
    numbers.iter().try_for_each(|x| out.write_all(&x.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_numpys() {
        let mut file = vec![];
        write_header(&mut file, &[2, 3]).unwrap();
        write_numbers(&mut file, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.5]).unwrap();
        assert_eq!(&file[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert!(file[10..].starts_with(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  "));
        assert_eq!(file[127], b'\n');
        assert_eq!(file.len(), 128 + 24);
        assert_eq!(file[148..], 6.5_f32.to_le_bytes());
        let mut file = vec![];
        write_header(&mut file, &[100_000, 65_535, 3, 4]).unwrap();
        assert!(file.len().is_multiple_of(64) && file.ends_with(b" \n"));
        assert!(
            file[10..]
                .starts_with(b"{'descr': '<f4', 'fortran_order': False, 'shape': (100000, 65535, 3, 4), }")
        );
    }
}
