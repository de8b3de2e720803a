"""Detached signatures of bundles in the format of OpenSSF Model Signing (sigstore bundles), by the package model-signing.

    openssl ecparam -name prime256v1 -genkey -noout -out key.pem
    openssl ec -in key.pem -pubout -out key.pub
    python -m mts sign app.mtsb --key key.pem             # writes app.mtsb.sig
    python -m mts verify app.mtsb --key key.pub

Keys are elliptic curves' (PEM), so that neither command asks any service. The C libraries know nothing of it: a program
that wants a signature checked does so before it opens the bundle.
"""
from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from typing import Any, Optional, Sequence

from mts._native import Error, Path, Status


def _modules() -> tuple[Any, Any, Any]:
    try:
        from model_signing import hashing, signing, verifying
    except ImportError as error:
        raise Error(Status.UNSUPPORTED, f"signatures need the package model-signing (pip install mts[signing]): {error}") from None
    return signing, verifying, hashing


class _Folder:
    """A folder with the bundle alone in it, by one name for all: what is signed is a set of files with their names."""

    def __init__(self, bundle: Path) -> None:
        self.bundle = os.fsdecode(bundle)

    def __enter__(self) -> str:
        if not os.path.isfile(self.bundle):
            raise Error(Status.NOT_FOUND, f"{self.bundle}: no such file")
        self.place = tempfile.mkdtemp()
        try:
            shutil.copyfile(self.bundle, os.path.join(self.place, "bundle.mtsb"))
        except OSError as error:  # not to be read, or the disk is full
            self.__exit__()
            raise Error(Status.IO, f"{self.bundle}: {error}") from None
        return self.place

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.place, ignore_errors=True)


def sign(bundle: Path, key: Path, signature: Optional[Path] = None, *, password: Optional[str] = None) -> str:
    """Writes a detached signature of a bundle, and returns its path.

    :param key: private key of an elliptic curve, PEM
    :param signature: path; default: that of the bundle and ".sig"
    :param password: of the key
    """
    signing, _, _ = _modules()
    path = os.fsdecode(signature) if signature is not None else os.fsdecode(bundle) + ".sig"
    if os.path.exists(path) and os.path.samefile(path, bundle):
        raise Error(Status.INVALID_ARGUMENT, f"{path}: the signature would overwrite the bundle")
    with _Folder(bundle) as folder:
        try:
            signer = signing.Config().use_elliptic_key_signer(private_key=os.fsdecode(key), password=password)
        except Exception as error:  # the package raises what its own parts raise
            raise Error(Status.INVALID_ARGUMENT, f"{os.fsdecode(key)}: {error}") from None
        try:
            signer.sign(folder, path)
        except Exception as error:
            raise Error(Status.IO, f"{path}: {error}") from None
    return path


def verify(bundle: Path, key: Path, signature: Optional[Path] = None) -> None:
    """Raises mts.Error unless the signature is one of these very bytes by the private key that belongs to `key`."""
    _, verifying, _ = _modules()
    path = os.fsdecode(signature) if signature is not None else os.fsdecode(bundle) + ".sig"
    if not os.path.isfile(path):
        raise Error(Status.NOT_FOUND, f"{path}: no such file")
    with _Folder(bundle) as folder:
        try:
            verifying.Config().use_elliptic_key_verifier(public_key=os.fsdecode(key)).verify(folder, path)
        except Exception as error:  # the package raises what its own parts raise
            raise Error(Status.MALFORMED, f"{os.fsdecode(bundle)}: the signature {path} does not hold: {error}") from None


def command(arguments: Sequence[str]) -> int:
    """`mts sign` and `mts verify`; the exit status."""
    name = arguments[0]
    parser = argparse.ArgumentParser(prog=f"mts {name}", description=f"{name} a bundle (OpenSSF Model Signing)")
    parser.add_argument("bundle")
    parser.add_argument("--key", required=True, help="PEM file of an elliptic curve: private to sign, public to verify")
    parser.add_argument("--signature", help="default: the bundle's path and .sig")
    given = parser.parse_args(list(arguments[1:]))
    try:
        if name == "sign":
            print("wrote", sign(given.bundle, given.key, given.signature))
        else:
            verify(given.bundle, given.key, given.signature)
            print(f"{given.bundle}: the signature holds")
    except Error as error:
        print(f"mts {name}: {error}", file=sys.stderr)
        return 1
    return 0
