//! JSON Web Keys to PEM.

use crate::lang::gocrypto::{self, Block};
use crate::template::engine::functions::{Env, ParamType as P, Row, arg};
use crate::template::engine::{Failure, Value};

use super::certificates::{failure, pem_value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("jwkPublicKeyPem", &[P::String], public_key),
    Row::new("jwkPrivateKeyPem", &[P::String], private_key),
];

/// Steps that reading and checking a key costs.
const KEY: u64 = 20_000;

fn public_key(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    env.spend(KEY)?;
    let key = gocrypto::public_key_der(arg::bytes(args, 0)).map_err(failure)?;
    Ok(pem_value(&Block::new("PUBLIC KEY", &key)))
}

fn private_key(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    env.spend(KEY)?;
    let key = gocrypto::private_key_der(arg::bytes(args, 0)).map_err(failure)?;
    Ok(pem_value(&Block::new("PRIVATE KEY", &key)))
}
