"""The manual page says what the program says: every command, every option, every word of their texts; roff has nothing
to complain of where groff is installed; and it is made of the same bytes again.

usage: man.py SOURCE PROGRAM WORK
"""
import gzip
import os
import re
import shutil
import subprocess
import sys

wrong = []


def check(holds, sentence):
    if not holds:
        wrong.append(sentence)


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def make(source, program, out):
    printed(sys.executable, os.path.join(source, "packaging/man.py"), program, out)
    with open(out, "rb") as file:
        return file.read()


def plain(page):
    """The page's words, without what roff reads."""
    text = re.sub(r"^\\.(SH|SS|TP|PP|B|I|nf|fi|TH)\\b ?", "", page, flags=re.M).replace("\\&", "").replace("\\-", "-")
    return " ".join(text.replace("\\e", "\\").split())


def main():
    source, program, work = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    first = make(source, program, os.path.join(work, "mts.1.gz"))
    check(first == make(source, program, os.path.join(work, "again.1.gz")), "two runs give two pages")
    page = gzip.decompress(first).decode()
    words = plain(page)
    commands = re.findall(r"^  (\S+) +\S", printed(program, "--help"), re.M)
    check(len(commands) >= 10, f"the program has the commands {commands}")
    for command in commands:
        check(f"\n.SS mts {command}:" in page, f"no section of '{command}'")
        for line in printed(program, command, "--help").split("\n"):
            for piece in re.split(r"  +", line.replace("usage: ", "").strip()):
                known = " ".join(piece.split()) in words or piece == "options:"
                check(known, f"'{command}': '{piece}' is not in the page")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=page, capture_output=True, text=True)
        check(done.returncode == 0 and not done.stderr, f"groff: {done.stderr}")
    for sentence in wrong:
        print(sentence)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
