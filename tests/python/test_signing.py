"""Signatures of bundles: bytes that were changed, another key, a missing package. Without model-signing most of it skips:
`pip install model-signing pyopenssl`."""
import subprocess
import sys

import pytest

import mts
from mts import signing


def keys(folder, name):
    private, public = str(folder / f"{name}.pem"), str(folder / f"{name}.pub")
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", private], check=True)
    subprocess.run(["openssl", "ec", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    return private, public


def test_a_signature_holds_for_these_bytes_and_this_key_alone(tmp_path):
    pytest.importorskip("model_signing.signing")
    (private, public), (_, other) = keys(tmp_path, "one"), keys(tmp_path, "other")
    bundle = tmp_path / "app.mtsb"
    bundle.write_bytes(bytes(range(256)) * 40)
    assert signing.sign(bundle, private) == str(bundle) + ".sig"
    signing.verify(bundle, public)
    moved = tmp_path / "renamed.mtsb"
    moved.write_bytes(bundle.read_bytes())
    signing.verify(moved, public, str(bundle) + ".sig")  # the name is no part of it
    with pytest.raises(mts.Error) as caught:
        signing.verify(bundle, other)
    assert caught.value.status.name == "MALFORMED"
    damaged = bytearray(bundle.read_bytes())
    damaged[5000] ^= 1
    bundle.write_bytes(damaged)
    with pytest.raises(mts.Error, match="does not hold"):
        signing.verify(bundle, public)
    ran = subprocess.run([sys.executable, "-m", "mts", "verify", str(bundle), "--key", public], capture_output=True, text=True)
    assert ran.returncode == 1 and "does not hold" in ran.stderr and "Traceback" not in ran.stderr
    with pytest.raises(mts.Error, match="one.pub"):  # no private key
        signing.sign(bundle, public)
    with pytest.raises(mts.Error, match="no/such"):
        signing.sign(bundle, private, tmp_path / "no" / "such" / "folder.sig")
    with pytest.raises(mts.Error, match="overwrite"):
        signing.sign(bundle, private, bundle)
    assert bundle.read_bytes() == damaged
    (tmp_path / "app.mtsb.sig").write_bytes(b"\xff{")  # no signature at all
    with pytest.raises(mts.Error, match="does not hold"):
        signing.verify(bundle, public)


def test_a_bundle_that_cannot_be_copied_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "made").mkdir()
    monkeypatch.setattr(signing.tempfile, "tempdir", str(tmp_path / "made"))
    monkeypatch.setattr(signing.shutil, "copyfile", full)
    with pytest.raises(mts.Error, match="No space left"):
        with signing._Folder(tmp_path / "a"):
            pass
    assert not list((tmp_path / "made").iterdir())


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "model_signing", None)
    with pytest.raises(mts.Error, match="model-signing"):
        signing.verify(tmp_path / "a", tmp_path / "b")
