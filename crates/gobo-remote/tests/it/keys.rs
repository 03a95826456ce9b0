//! The keys of RFC 8032, section 7.1, as openssl writes keys.

use gobo_remote::object::{Envelope, Kind};
use gobo_remote::{Signer, Trust};
use gobo_types::Digest;

const SEEDS: [&str; 3] = [
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
];

const PUBLIC: [&str; 3] = [
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
];

fn hex(text: &str) -> Vec<u8> {
    let digits = (0..text.len()).step_by(2);
    digits.map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn pem(label: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in der.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

/// A file of one private key.
pub(crate) fn private(number: usize) -> String {
    let prefix = hex("302e020100300506032b657004220420");
    pem("PRIVATE KEY", &[prefix, hex(SEEDS[number])].concat())
}

/// A file of public keys.
pub(crate) fn public(numbers: &[usize]) -> String {
    let prefix = hex("302a300506032b6570032100");
    numbers.iter().map(|number| pem("PUBLIC KEY", &[prefix.clone(), hex(PUBLIC[*number])].concat())).collect()
}

pub(crate) fn signer(number: usize) -> Signer {
    Signer::from_pem(private(number).as_bytes()).unwrap()
}

pub(crate) fn trust(numbers: &[usize]) -> Trust {
    Trust::from_pem(public(numbers).as_bytes()).unwrap()
}

#[test]
fn who_has_signed_is_believed_by_those_who_trust_the_key() {
    let head = Envelope {
        kind: Kind::Index,
        key: Digest([1; 32]),
        digest: Digest([2; 32]),
        bytes: 3,
        stored: 4,
        signatures: vec![],
    };
    let signed = Envelope { signatures: vec![signer(0).sign(&head)], ..head.clone() };
    assert_eq!(signed.signatures[0].public.to_vec(), hex(PUBLIC[0]));
    assert!(trust(&[0]).has_signed(&signed) && trust(&[1, 0]).has_signed(&signed));
    assert!(!trust(&[1, 2]).has_signed(&signed) && !trust(&[0]).has_signed(&head));
    // Each field is signed.
    for other in [
        Envelope { kind: Kind::Vocabulary, ..signed.clone() },
        Envelope { key: Digest([3; 32]), ..signed.clone() },
        Envelope { digest: Digest([3; 32]), ..signed.clone() },
        Envelope { bytes: 4, ..signed.clone() },
        Envelope { stored: 3, ..signed.clone() },
    ] {
        assert!(!trust(&[0]).has_signed(&other), "{other:?}");
    }
    // Two keys while one takes the place of the other.
    let both = Envelope { signatures: vec![signer(0).sign(&head), signer(2).sign(&head)], ..head };
    assert!(trust(&[0]).has_signed(&both) && trust(&[2]).has_signed(&both) && !trust(&[1]).has_signed(&both));
}

#[test]
fn files_without_keys_are_refused_with_a_reason() {
    for (file, why) in [
        (String::new(), "no public key"),
        ("hello".to_owned(), "no public key"),
        (private(0), "no public key"),
        (pem("PUBLIC KEY", &[0x30; 44]), "no Ed25519"),
        (public(&[0]).replace("PUBLIC KEY-----\n", "PUBLIC KEY-----\n!"), "no file of public keys"),
    ] {
        let error = Trust::from_pem(file.as_bytes()).unwrap_err();
        assert!(error.contains(why), "{file}: {error}");
    }
    for (file, why) in [(public(&[0]), "no private key"), (pem("PRIVATE KEY", &[0x30; 48]), "no Ed25519 key")]
    {
        let error = Signer::from_pem(file.as_bytes()).unwrap_err();
        assert!(error.contains(why), "{file}: {error}");
    }
}
