//! NTLM version 2 over HTTP: the three messages.
//!
//! A connection is authenticated, not a request, so all three steps must travel on one connection.

use hmac::{Hmac, KeyInit, Mac};
use md4::{Digest, Md4};
use md5::Md5;
use zeroize::Zeroizing;

const SIGNATURE: &[u8; 8] = b"NTLMSSP\0";
/// Unicode, NTLM, request target, always sign, NTLM2 session security, 128 and 56 bits, version.
const FLAGS: u32 = 0xa208_8205;

/// User, password and domain.
pub struct Account {
    /// User without its domain.
    pub user: String,
    /// Password.
    pub password: Zeroizing<String>,
    /// Domain; may be empty.
    pub domain: String,
}

impl Account {
    /// `DOMAIN\user` is split at the first backslash.
    pub fn new(user: &str, password: Zeroizing<String>) -> Self {
        let (domain, user) = user.split_once('\\').unwrap_or(("", user));
        Self {
            user: user.to_owned(),
            password,
            domain: domain.to_owned(),
        }
    }
}

/// The first message: what we can do.
pub fn negotiate() -> Vec<u8> {
    let mut message = Vec::with_capacity(40);
    message.extend_from_slice(SIGNATURE);
    message.extend_from_slice(&1_u32.to_le_bytes());
    message.extend_from_slice(&FLAGS.to_le_bytes());
    // No domain, no workstation.
    message.extend_from_slice(&[0; 16]);
    message.extend_from_slice(&VERSION);
    message
}

/// Windows 6.1.7601, NTLM revision 15: servers want one, none cares which.
const VERSION: [u8; 8] = [6, 1, 0xb1, 0x1d, 0, 0, 0, 15];

/// Why the server's message cannot be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("NTLM challenge of the server is malformed")]
pub struct BadChallenge;

/// The server's challenge.
#[derive(Debug, PartialEq, Eq)]
pub struct Challenge {
    nonce: [u8; 8],
    target_info: Vec<u8>,
}

impl Challenge {
    /// Reads the second message.
    pub fn parse(message: &[u8]) -> Result<Self, BadChallenge> {
        let kind = message.get(8..12).ok_or(BadChallenge)?;
        if !message.starts_with(SIGNATURE) || kind != 2_u32.to_le_bytes() {
            return Err(BadChallenge);
        }
        let nonce = message
            .get(24..32)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(BadChallenge)?;
        let target_info = match message.get(40..48) {
            Some(field) => payload(message, field)?.to_vec(),
            None => Vec::new(),
        };
        Ok(Self { nonce, target_info })
    }

    /// The server's own clock in the challenge, if it gives one (a 64-bit Windows file time).
    fn timestamp(&self) -> Option<[u8; 8]> {
        let mut rest = self.target_info.as_slice();
        while let Some((head, tail)) = rest.split_at_checked(4) {
            let (id, length) = (
                u16::from_le_bytes([head[0], head[1]]),
                usize::from(u16::from_le_bytes([head[2], head[3]])),
            );
            let (value, after) = tail.split_at_checked(length)?;
            match id {
                0 => return None,
                7 => return value.try_into().ok(),
                _ => rest = after,
            }
        }
        None
    }
}

fn payload<'m>(message: &'m [u8], field: &[u8]) -> Result<&'m [u8], BadChallenge> {
    let length = usize::from(u16::from_le_bytes([field[0], field[1]]));
    let offset = u32::from_le_bytes([field[4], field[5], field[6], field[7]]) as usize;
    message
        .get(offset..offset.checked_add(length).ok_or(BadChallenge)?)
        .ok_or(BadChallenge)
}

/// The third message: the answer to a challenge.
///
/// `nonce` is eight random bytes; `file_time` (100 ns since 1601) is used where the server gives no time of its own.
pub fn authenticate(account: &Account, challenge: &Challenge, nonce: [u8; 8], file_time: u64) -> Zeroizing<Vec<u8>> {
    let key = response_key(account);
    let time = challenge.timestamp().unwrap_or(file_time.to_le_bytes());
    let mut blob = vec![1, 1, 0, 0, 0, 0, 0, 0];
    blob.extend_from_slice(&time);
    blob.extend_from_slice(&nonce);
    blob.extend_from_slice(&[0; 4]);
    blob.extend_from_slice(&challenge.target_info);
    blob.extend_from_slice(&[0; 4]);
    let mut nt_response = hmac_md5(&*key, &[&challenge.nonce, &blob]).to_vec();
    nt_response.extend_from_slice(&blob);
    // With a time from the server the old response is not checked and left empty, as Windows does.
    let lm_response = if challenge.timestamp().is_some() {
        vec![0; 24]
    } else {
        let mut response = hmac_md5(&*key, &[&challenge.nonce, &nonce]).to_vec();
        response.extend_from_slice(&nonce);
        response
    };
    let parts = [
        lm_response,
        nt_response,
        utf16(&account.domain),
        utf16(&account.user),
        Vec::new(),
        Vec::new(),
    ];
    assemble(&parts)
}

fn assemble(parts: &[Vec<u8>; 6]) -> Zeroizing<Vec<u8>> {
    const HEADER: usize = 72;
    let mut message = Zeroizing::new(Vec::with_capacity(HEADER + parts.iter().map(Vec::len).sum::<usize>()));
    message.extend_from_slice(SIGNATURE);
    message.extend_from_slice(&3_u32.to_le_bytes());
    let mut offset = HEADER;
    for part in parts {
        let length = u16::try_from(part.len()).unwrap_or(u16::MAX).to_le_bytes();
        message.extend_from_slice(&length);
        message.extend_from_slice(&length);
        message.extend_from_slice(&u32::try_from(offset).unwrap_or(u32::MAX).to_le_bytes());
        offset += part.len();
    }
    message.extend_from_slice(&FLAGS.to_le_bytes());
    message.extend_from_slice(&VERSION);
    for part in parts {
        message.extend_from_slice(part);
    }
    message
}

/// NTOWFv2: MD4 of the password, then HMAC-MD5 over user in capitals and domain as written.
fn response_key(account: &Account) -> Zeroizing<[u8; 16]> {
    let password = Zeroizing::new(utf16(&account.password));
    let hash: Zeroizing<[u8; 16]> = Zeroizing::new(Md4::digest(&*password).into());
    Zeroizing::new(hmac_md5(
        &*hash,
        &[&utf16(&account.user.to_uppercase()), &utf16(&account.domain)],
    ))
}

fn hmac_md5(key: &[u8], parts: &[&[u8]]) -> [u8; 16] {
    let mut mac = Hmac::<Md5>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::{Account, BadChallenge, Challenge, authenticate, hmac_md5, negotiate, response_key, utf16};
    use zeroize::Zeroizing;

    fn account() -> Account {
        Account::new("Domain\\User", Zeroizing::new("Password".to_owned()))
    }

    /// The worked example of Microsoft's protocol document (MS-NLMP 4.2.4).
    #[test]
    fn the_documented_example_gives_the_documented_keys() {
        let key = response_key(&account());
        let wanted = [
            0x0c, 0x86, 0x8a, 0x40, 0x3b, 0xfd, 0x7a, 0x93, 0xa3, 0x00, 0x1e, 0xf2, 0x2e, 0xf0, 0x2e, 0x3f,
        ];
        assert_eq!(*key, wanted);
        let mut info = Vec::new();
        for (id, text) in [(2_u16, "Domain"), (1, "Server")] {
            info.extend_from_slice(&id.to_le_bytes());
            info.extend_from_slice(&12_u16.to_le_bytes());
            info.extend_from_slice(&utf16(text));
        }
        info.extend_from_slice(&[0; 4]);
        let mut blob = vec![1, 1, 0, 0, 0, 0, 0, 0];
        blob.extend_from_slice(&[0; 8]);
        blob.extend_from_slice(&[0xaa; 8]);
        blob.extend_from_slice(&[0; 4]);
        blob.extend_from_slice(&info);
        blob.extend_from_slice(&[0; 4]);
        let server = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
        let proof = hmac_md5(&*key, &[&server, &blob]);
        let wanted = [
            0x68, 0xcd, 0x0a, 0xb8, 0x51, 0xe5, 0x1c, 0x96, 0xaa, 0xbc, 0x92, 0x7b, 0xeb, 0xef, 0x6a, 0x1c,
        ];
        assert_eq!(proof, wanted);
        let message = authenticate(
            &account(),
            &Challenge {
                nonce: server,
                target_info: info,
            },
            [0xaa; 8],
            0,
        );
        assert!(message.windows(16).any(|part| part == wanted));
    }

    #[test]
    fn broken_challenges_are_refused() {
        assert_eq!(Challenge::parse(b"junk"), Err(BadChallenge));
        assert_eq!(Challenge::parse(&negotiate()), Err(BadChallenge));
        let mut message = b"NTLMSSP\0\x02\0\0\0".to_vec();
        message.extend_from_slice(&[0; 28]);
        message.extend_from_slice(&[0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(Challenge::parse(&message), Err(BadChallenge));
    }
}
