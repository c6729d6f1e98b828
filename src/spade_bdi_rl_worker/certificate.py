"""The certificate of a run's XMPP server: made for it, and thrown away with it.

pyjabber would sign with a key that every installation has, and write beside its own code.
"""

from __future__ import annotations

import datetime
from pathlib import Path

_LIFETIME = datetime.timedelta(days=365)


def write_certificate(directory: Path, host: str) -> None:
    """Write `<host>_key.pem` and `<host>_cert.pem`."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    key_path = directory / f"{host}_key.pem"
    key_path.touch(mode=0o600)
    key_path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    (directory / f"{host}_cert.pem").write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
    )
