//! Hashes, password hashes, symmetric encryption and private keys of sprig, and ESO's `rsaDecrypt`.

use cbc::cipher::block_padding::NoPadding;
use cbc::cipher::{BlockModeDecrypt as _, BlockModeEncrypt as _, KeyIvInit as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use zeroize::Zeroizing;

use crate::lang::gocrypto::{self, Block, DsaKey, PrivateKey};
use crate::template::engine::functions::{Env, ParamType as P, Row, arg, encoding};
use crate::template::engine::{Failure, Value};

use super::certificates::failure;

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("sha1sum", &[P::String], |env, args| {
        hex_digest(env, args, |text| Sha1::digest(text).to_vec())
    }),
    Row::new("sha256sum", &[P::String], |env, args| {
        hex_digest(env, args, |text| Sha256::digest(text).to_vec())
    }),
    Row::new("sha512sum", &[P::String], |env, args| {
        hex_digest(env, args, |text| Sha512::digest(text).to_vec())
    }),
    Row::new("adler32sum", &[P::String], adler32sum),
    Row::new("bcrypt", &[P::String], |env, args| {
        bcrypt_hash(env, arg::bytes(args, 0)).map(Value::str)
    }),
    Row::new("htpasswd", &[P::String, P::String, P::HashAlgorithm], htpasswd),
    Row::new(
        "derivePassword",
        &[P::Uint32, P::String, P::String, P::String, P::String],
        derive_password,
    ),
    Row::new("genPrivateKey", &[P::String], gen_private_key),
    Row::new("encryptAES", &[P::String, P::String], encrypt_aes),
    Row::new("decryptAES", &[P::String, P::String], decrypt_aes),
    Row::new("rsaDecrypt", &[P::String, P::String, P::String, P::String], rsa_decrypt),
];

/// What costly functions take from the budget of a run, in steps of about 50 ns.
mod cost {
    pub const BYTES_PER_STEP: usize = 32;
    pub const BCRYPT: u64 = 1_000_000;
    pub const SCRYPT: u64 = 2_000_000;
    pub const SCRYPT_MEMORY: usize = 32 << 20;
    pub const RSA_4096: u64 = 8_000_000;
    pub const DSA: u64 = 6_000_000;
    pub const CURVE: u64 = 10_000;
    pub const RSA_OPERATION: u64 = 50_000;
}

fn spend_bytes(env: &mut Env<'_>, bytes: usize) -> Result<(), Failure> {
    env.spend(u64::try_from(bytes / cost::BYTES_PER_STEP).unwrap_or(u64::MAX))
}

fn hex_digest(env: &mut Env<'_>, args: &[Value], digest: fn(&[u8]) -> Vec<u8>) -> Result<Value, Failure> {
    let text = arg::bytes(args, 0);
    spend_bytes(env, text.len())?;
    let digits = digest(text).into_iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    let hex: String = digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect();
    Ok(Value::str(hex))
}

fn adler32sum(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    const MODULUS: u32 = 65_521;
    let text = arg::bytes(args, 0);
    spend_bytes(env, text.len())?;
    let (low, high) = text.iter().fold((1, 0), |(low, high), &byte| {
        let low = (low + u32::from(byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    Ok(Value::str(((high << 16) | low).to_string()))
}

/// A bcrypt hash of cost 10, or sprig's message when the password is too long.
fn bcrypt_hash(env: &mut Env<'_>, password: &[u8]) -> Result<String, Failure> {
    const COST: u32 = 10;
    const DIGEST_BYTES: usize = 23;
    if password.len() > 72 {
        return Ok("failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes".to_owned());
    }
    env.spend(cost::BCRYPT)?;
    let mut salt = [0; 16];
    env.fill_random(&mut salt);
    // bcrypt hashes the zero byte at the end of a C string too.
    let mut terminated = Zeroizing::new(password.to_vec());
    terminated.push(0);
    let digest = bcrypt::bcrypt(COST, salt, &terminated);
    Ok(format!(
        "$2a${COST}${}{}",
        bcrypt_text(&salt),
        bcrypt_text(&digest[..DIGEST_BYTES])
    ))
}

/// bcrypt's own base64: another alphabet, no padding.
fn bcrypt_text(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(padded);
        let characters = [18, 12, 6, 0].into_iter().take(group.len() + 1);
        text.extend(characters.map(|shift| char::from(ALPHABET[(bits >> shift & 63) as usize])));
    }
    text
}

fn htpasswd(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (user, password) = (arg::bytes(args, 0), arg::bytes(args, 1));
    if user.contains(&b':') {
        return Ok(Value::str([b"invalid username: ", user].concat()));
    }
    let hash = match arg::bytes(args, 2) {
        b"sha" => [b"{SHA}".to_vec(), encoding::base64_encode(&Sha1::digest(password))].concat(),
        _ => bcrypt_hash(env, password)?.into_bytes(),
    };
    Ok(Value::str([user, b":", &hash].concat()))
}

/// The templates of the Master Password scheme by the word that chooses them.
const PASSWORD_TEMPLATES: [(&[u8], &[&str]); 6] = [
    (b"maximum", &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"]),
    (
        b"long",
        &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
    ),
    (b"medium", &["CvcnoCvc", "CvcCvcno"]),
    (b"short", &["Cvcn"]),
    (b"basic", &["aaanaaan", "aannaaan", "aaannaaa"]),
    (b"pin", &["nnnn"]),
];

/// The characters that a letter of a template stands for.
fn template_characters(letter: u8) -> &'static [u8] {
    match letter {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

fn derive_password(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    const SCOPE: &[u8] = b"com.lyndir.masterpassword";
    let counter = u32::try_from(arg::int(args, 0)).unwrap_or(0);
    let kind = arg::bytes(args, 1);
    let Some((_, templates)) = PASSWORD_TEMPLATES.iter().find(|(name, _)| *name == kind) else {
        return Ok(Value::str([b"cannot find password template ", kind].concat()));
    };
    let (password, user, site) = (arg::bytes(args, 2), arg::bytes(args, 3), arg::bytes(args, 4));
    env.spend(cost::SCRYPT)?;
    env.reserve(cost::SCRYPT_MEMORY)?;
    let scoped = |name: &[u8]| {
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX).to_be_bytes();
        Zeroizing::new([SCOPE, &length, name].concat())
    };
    let failed = || Failure::new("failed to derive password");
    let mut key = Zeroizing::new([0; 64]);
    let parameters = scrypt::Params::new(15, 8, 2).map_err(|_| failed())?;
    scrypt::scrypt(password, &scoped(user), &parameters, &mut *key).map_err(|_| failed())?;
    let mac = Hmac::<Sha256>::new_from_slice(&*key).map_err(|_| failed())?;
    let seed = mac
        .chain_update(&*scoped(site))
        .chain_update(counter.to_be_bytes())
        .finalize()
        .into_bytes();
    let template = templates[usize::from(seed[0]) % templates.len()];
    let derived: Vec<u8> = template
        .bytes()
        .zip(&seed[1..])
        .map(|(letter, &byte)| {
            let characters = template_characters(letter);
            characters[usize::from(byte) % characters.len()]
        })
        .collect();
    Ok(Value::str(derived))
}

fn gen_private_key(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (kind, encoded) = match arg::bytes(args, 0) {
        b"" | b"rsa" => {
            env.spend(cost::RSA_4096)?;
            PrivateKey::generate_rsa(4096, &mut |out| env.fill_random(out))
                .map_err(failure)?
                .to_traditional()
        }
        b"dsa" => {
            env.spend(cost::DSA)?;
            let key = DsaKey::generate(&mut |out| env.fill_random(out)).map_err(failure)?;
            ("DSA PRIVATE KEY", key.to_der())
        }
        b"ecdsa" => {
            env.spend(cost::CURVE)?;
            PrivateKey::generate_p256(&mut |out| env.fill_random(out)).to_traditional()
        }
        b"ed25519" => PrivateKey::generate_ed25519(&mut |out| env.fill_random(out)).to_traditional(),
        other => return Ok(Value::str([b"Unknown type ", other].concat())),
    };
    Ok(super::certificates::pem_value(&Block::new(kind, &encoded)))
}

/// The password cut or filled with zeros to the size of an AES-256 key.
fn aes_key(password: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    let length = password.len().min(32);
    key[..length].copy_from_slice(&password[..length]);
    key
}

const AES_BLOCK: usize = 16;

fn encrypt_aes(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let text = arg::bytes(args, 1);
    if text.is_empty() {
        return Ok(Value::str(""));
    }
    spend_bytes(env, text.len())?;
    let mut iv = [0; AES_BLOCK];
    env.fill_random(&mut iv);
    let padding = AES_BLOCK - text.len() % AES_BLOCK;
    let mut padded = Zeroizing::new(text.to_vec());
    padded.resize(text.len() + padding, u8::try_from(padding).unwrap_or(0));
    let mode = cbc::Encryptor::<aes::Aes256>::new((&*aes_key(arg::bytes(args, 0))).into(), &iv.into());
    let encrypted = mode.encrypt_padded_vec::<NoPadding>(&padded);
    Ok(Value::str(encoding::base64_encode(&[&iv[..], &encrypted].concat())))
}

/// Undoes [`encrypt_aes`]. sprig checks nothing; what Go's slices then complain about is the error.
fn decrypt_aes(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let text = arg::bytes(args, 1);
    if text.is_empty() {
        return Ok(Value::str(""));
    }
    spend_bytes(env, text.len())?;
    let data = encoding::base64_decode(text, encoding::Alphabet::Standard).map_err(Failure::new)?;
    let bounds = |what: String| Failure::new(format!("runtime error: slice bounds out of range {what}"));
    // Go's buffer has room for the text without its line breaks and padding taken out.
    let capacity = text.len() / 4 * 3;
    if data.len() < AES_BLOCK {
        let what = if capacity < AES_BLOCK {
            format!("[:{AES_BLOCK}] with capacity {capacity}")
        } else {
            format!("[{AES_BLOCK}:{}]", data.len())
        };
        return Err(bounds(what));
    }
    let (iv, encrypted) = data.split_at(AES_BLOCK);
    if !encrypted.len().is_multiple_of(AES_BLOCK) {
        return Err(Failure::new("crypto/cipher: input not full blocks"));
    }
    let key = aes_key(arg::bytes(args, 0));
    let mut decrypted = cbc::Decryptor::<aes::Aes256>::new_from_slices(&*key, iv)
        .ok()
        .and_then(|mode| mode.decrypt_padded_vec::<NoPadding>(encrypted).ok())
        .map(Zeroizing::new)
        .ok_or_else(|| Failure::new("crypto/cipher: input not full blocks"))?;
    let Some(&padding) = decrypted.last() else {
        return Err(Failure::new("runtime error: index out of range [-1]"));
    };
    let padding = usize::from(padding);
    match decrypted.len().checked_sub(padding) {
        Some(length) => {
            decrypted.truncate(length);
            Ok(Value::str(decrypted.to_vec()))
        }
        None => Err(bounds(format!("[:-{}]", padding - decrypted.len()))),
    }
}

fn rsa_decrypt(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    match arg::bytes(args, 0) {
        b"None" => return Ok(Value::Str(arg::text(args, 2))),
        b"RSA-OAEP" => {}
        scheme => {
            let scheme = String::from_utf8_lossy(scheme);
            return Err(Failure::with_data(
                format!("decryption scheme {scheme} is not supported"),
                "decryption scheme is not supported",
            ));
        }
    }
    env.spend(cost::RSA_OPERATION)?;
    let (block, _) = gocrypto::decode_pem(arg::bytes(args, 3));
    let block = block.ok_or_else(|| Failure::new("failed to decode PEM block"))?;
    let key =
        PrivateKey::from_any(&block.body).map_err(|error| failure(error.prefixed("could not parse private key: ")))?;
    if !matches!(key, PrivateKey::Rsa(_)) {
        return Err(Failure::new("could not parse RSA private key"));
    }
    key.decrypt_oaep(arg::bytes(args, 1), arg::bytes(args, 2), &mut |out| {
        env.fill_random(out);
    })
    .map(Value::str)
    .map_err(|error| failure(error.prefixed("error decrypting data with RSA: ")))
}

#[cfg(test)]
mod tests;
