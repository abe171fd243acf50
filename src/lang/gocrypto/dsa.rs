//! DSA keys, which sprig still makes: 2048-bit modulus, 256-bit subgroup.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Integer as _, NonZero, Odd, RandomMod as _, Resize as _};
use crypto_primes::{Flavor, is_prime, random_prime};
use zeroize::Zeroizing;

use super::der::{self, Encoded, Reader, tag};
use super::{Adapter, CryptoError, Random};

const MODULUS_BITS: u32 = 2048;
const SUBGROUP_BITS: u32 = 256;

/// The five numbers of a DSA key, most significant byte first.
pub struct DsaKey {
    numbers: [Zeroizing<Vec<u8>>; 5],
}

impl DsaKey {
    /// Makes parameters and a key, named as in FIPS 186.
    ///
    /// # Errors
    /// When the random source yields no usable numbers.
    #[expect(clippy::many_single_char_names, reason = "the standard's own names")]
    pub fn generate(random: &mut Random<'_>) -> Result<Self, CryptoError> {
        let failed = || CryptoError::new("crypto/dsa: invalid parameters");
        let mut random = Adapter(random);
        let q: BoxedUint = random_prime(&mut random, Flavor::Any, SUBGROUP_BITS);
        let q_wide = NonZero::new(q.clone().resize(MODULUS_BITS))
            .into_option()
            .ok_or_else(failed)?;
        let one = BoxedUint::one_with_precision(MODULUS_BITS);
        let p = find_modulus(&mut random, &q_wide);
        let parameters = BoxedMontyParams::new(Odd::new(p.clone()).into_option().ok_or_else(failed)?);
        let exponent = p.wrapping_sub(&one).wrapping_div_vartime(&q_wide);
        let g = (2u64..1000)
            .map(|base| power(&BoxedUint::from(base).resize(MODULUS_BITS), &exponent, &parameters))
            .find(|g| *g != one)
            .ok_or_else(failed)?;
        let x = loop {
            let x = BoxedUint::try_random_mod_vartime(&mut random, &q_wide).map_err(|_| failed())?;
            if !bool::from(x.is_zero()) {
                break x;
            }
        };
        let y = power(&g, &x, &parameters);
        let bytes = |number: &BoxedUint| Zeroizing::new(number.to_be_bytes().into_vec());
        Ok(Self {
            numbers: [bytes(&p), bytes(&q), bytes(&g), bytes(&y), bytes(&x)],
        })
    }

    /// Reads the form sprig writes.
    ///
    /// # Errors
    /// When it is something else.
    pub fn from_der(data: &[u8]) -> Result<Self, CryptoError> {
        Self::read(data).ok_or_else(|| CryptoError::new("asn1: structure error"))
    }

    fn read(data: &[u8]) -> Option<Self> {
        let mut key = Reader::new(data).nested(tag::SEQUENCE)?;
        key.small()?;
        let mut number = || key.unsigned().map(|bytes| Zeroizing::new(bytes.to_vec()));
        Some(Self {
            numbers: [number()?, number()?, number()?, number()?, number()?],
        })
    }

    /// Version, p, q, g, y, x, as OpenSSL writes it too.
    pub fn to_der(&self) -> Encoded {
        let mut pieces = vec![der::small(0)];
        pieces.extend(self.numbers.iter().map(|number| der::integer(number)));
        let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_slice()).collect();
        der::sequence(&pieces)
    }
}

/// A prime of full length that is one more than a multiple of `2q`.
fn find_modulus(random: &mut Adapter<'_, '_>, q: &NonZero<BoxedUint>) -> BoxedUint {
    let one = BoxedUint::one_with_precision(MODULUS_BITS);
    loop {
        let mut bytes = Zeroizing::new(vec![0; MODULUS_BITS as usize / 8]);
        (random.0)(&mut bytes);
        bytes[0] |= 0x80;
        let start = BoxedUint::from_be_slice_truncated(&bytes, MODULUS_BITS);
        let rest = start.rem_vartime(q);
        let mut candidate = start.wrapping_sub(&rest).wrapping_add(&one);
        if !bool::from(candidate.is_odd()) {
            candidate = candidate.wrapping_add(q.as_ref());
        }
        if candidate.bit_width_vartime() == MODULUS_BITS && is_prime(Flavor::Any, &candidate) {
            return candidate;
        }
    }
}

fn power(base: &BoxedUint, exponent: &BoxedUint, parameters: &BoxedMontyParams) -> BoxedUint {
    BoxedMontyForm::new(base.clone(), parameters).pow(exponent).retrieve()
}
