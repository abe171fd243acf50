//! PKCS#12: reading key stores, writing key stores and Java trust stores.

use std::cell::RefCell;

use crate::lang::gocrypto::{self, Block, Certificate, CryptoError, PrivateKey, pkcs12};
use crate::template::engine::functions::{Env, ParamType as P, Row, arg, encoding};
use crate::template::engine::{Failure, Value};

use super::certificates::{certificates_pem, failure, order_chain, pem_value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("pkcs12key", &[P::String], |env, args| key(env, b"", arg::bytes(args, 0))),
    Row::new("pkcs12keyPass", &[P::String, P::String], |env, args| {
        key(env, arg::bytes(args, 0), arg::bytes(args, 1))
    }),
    Row::new("pkcs12cert", &[P::String], |env, args| certificates(env, b"", arg::bytes(args, 0))),
    Row::new("pkcs12certPass", &[P::String, P::String], |env, args| {
        certificates(env, arg::bytes(args, 0), arg::bytes(args, 1))
    }),
    Row::new("pemToPkcs12", &[P::String, P::String], |env, args| key_store(env, args, false)),
    Row::new("pemToPkcs12Pass", &[P::String, P::String, P::String], |env, args| key_store(env, args, false)),
    Row::new("fullPemToPkcs12", &[P::String, P::String], |env, args| key_store(env, args, true)),
    Row::new("fullPemToPkcs12Pass", &[P::String, P::String, P::String], |env, args| key_store(env, args, true)),
    Row::new("pemTruststoreToPKCS12", &[P::String], trust_store),
    Row::new("pemTruststoreToPKCS12Pass", &[P::String, P::String], trust_store),
];

/// Steps that one round of a hash costs.
const STEPS_PER_HASH: u64 = 4;
/// Steps that reading a private key costs.
const KEY: u64 = 20_000;

fn read(env: &mut Env<'_>, password: &[u8], data: &[u8], prefix: &str) -> Result<pkcs12::Contents, Failure> {
    env.spend(KEY)?;
    pkcs12::read(data, password, &mut |hashes| env.spend(hashes.saturating_mul(STEPS_PER_HASH)).is_ok())
        .map_err(|error| failure(error.prefixed(prefix)))
}

fn key(env: &mut Env<'_>, password: &[u8], data: &[u8]) -> Result<Value, Failure> {
    let contents = read(env, password, data, "unable to decode pkcs12 with password: ")?;
    Ok(pem_value(&Block::new("PRIVATE KEY", &contents.key.to_pkcs8())))
}

fn certificates(env: &mut Env<'_>, password: &[u8], data: &[u8]) -> Result<Value, Failure> {
    let contents = read(env, password, data, "unable to decode pkcs12 certificate with password: ")?;
    let pem = certificates_pem(&contents.certificates);
    // Certificates that form no single chain keep the order of the file.
    Ok(Value::str(order_chain(&pem).map_or(pem, |ordered| certificates_pem(&ordered))))
}

/// The next block as a certificate. A text without one is the nil pointer that ESO follows.
fn next_certificate(pem: &[u8]) -> Result<(Certificate, &[u8]), Failure> {
    let (block, rest) = gocrypto::decode_pem(pem);
    let block = block.ok_or_else(Failure::nil_pointer)?;
    Certificate::parse(&block.body).map(|certificate| (certificate, rest)).map_err(failure)
}

/// All certificates of a text, to its very end.
fn all_certificates(mut pem: &[u8]) -> Result<Vec<Certificate>, Failure> {
    let mut certificates = Vec::new();
    while !pem.is_empty() {
        let (certificate, rest) = next_certificate(pem)?;
        certificates.push(certificate);
        pem = rest;
    }
    Ok(certificates)
}

fn key_store(env: &mut Env<'_>, args: &[Value], full: bool) -> Result<Value, Failure> {
    env.spend(KEY)?;
    let (certificate, rest) = next_certificate(arg::bytes(args, 0))?;
    let others = if full { all_certificates(rest)? } else { Vec::new() };
    let block = gocrypto::decode_pem(arg::bytes(args, 1)).0.ok_or_else(Failure::nil_pointer)?;
    let key = PrivateKey::from_any(&block.body).map_err(failure)?;
    write(env, |random, allowance| {
        pkcs12::write_key_store(&key, &certificate, &others, arg::bytes(args, 2), random, allowance)
    })
}

fn trust_store(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let certificates = all_certificates(arg::bytes(args, 0))?;
    write(env, |random, allowance| {
        pkcs12::write_trust_store(&certificates, arg::bytes(args, 1), random, allowance)
    })
}

/// Runs a writer with the randomness and the budget of the run; gives base64.
fn write(
    env: &mut Env<'_>,
    writer: impl FnOnce(&mut gocrypto::Random<'_>, &mut gocrypto::Allowance<'_>) -> Result<Vec<u8>, CryptoError>,
) -> Result<Value, Failure> {
    let env = RefCell::new(env);
    let file = writer(&mut |out| env.borrow_mut().fill_random(out), &mut |hashes| {
        env.borrow_mut().spend(hashes.saturating_mul(STEPS_PER_HASH)).is_ok()
    })
    .map_err(failure)?;
    Ok(Value::str(encoding::base64_encode(&file)))
}
