#!/usr/bin/env python3
"""What poses as adb: a folder (FAKE_ADB_ROOT) is the phone, whose commands run here. /data/local/tmp lies in it.

FAKE_ADB_STATE: none, no phone is there; FAKE_ADB_CRASH: a command with this text is killed, as by a driver that
crashes."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(os.environ["FAKE_ADB_ROOT"])
TMP = "/data/local/tmp"


def on_phone(path):
    if not path.startswith(TMP + "/"):
        sys.exit(f"adb: {path}: Permission denied")
    return ROOT / path[1:]


def shell(command):
    if command.startswith("getprop "):
        print(f"fake {command.split()[1]}")
        return 0
    crash = os.environ.get("FAKE_ADB_CRASH")
    if crash and crash in command:
        pathlib.Path(on_phone(f"{TMP}/mts/out.json")).write_text('{"half": ')
        pathlib.Path(on_phone(f"{TMP}/mts/err.txt")).write_text("the driver fell over\n")
        return 128 + signal.SIGSEGV
    return subprocess.run(["sh", "-c", command.replace(TMP, str(on_phone(TMP + "/mts").parent))], check=False).returncode


def main(words):
    if words[:1] == ["-s"]:
        words = words[2:]
    if os.environ.get("FAKE_ADB_STATE") == "none":
        sys.exit("error: no devices/emulators found")
    ROOT.joinpath(TMP[1:]).mkdir(parents=True, exist_ok=True)
    if words == ["get-state"]:
        print("device")
    elif words[0] == "push":
        shutil.copy(words[1], on_phone(words[2]))
    elif words[0] == "pull":
        shutil.copy(on_phone(words[1]), words[2])
    elif words[0] == "shell":
        return shell(" ".join(words[1:]))
    else:
        sys.exit(f"adb: unknown command {words[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
