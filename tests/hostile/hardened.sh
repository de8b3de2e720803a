#!/usr/bin/env bash
# Reads ELF files that were built: what the loader resolved is made read-only (GNU_RELRO, BIND_NOW), the stack is not
# executable, code lies anywhere, and, where a file is said to be compiled so, return addresses are guarded
# (__stack_chk_fail) and calls of the C library are checked (FORTIFY).
# usage: hardened.sh links|guarded|checked FILE... [links|guarded|checked FILE...]
set -euo pipefail
level=links
files=0
command -v readelf >/dev/null || { echo "no readelf: skipped"; exit 77; }
bad=0
# wants FILE WHAT COMMAND...: whether the command's output has a line that matches WHAT.
wants() {
    local file=$1 what=$2 text
    shift 2
    text=$("$@" "$file")
    if ! grep -qE "$what" <<<"$text"; then
        echo "$file: nothing in '$*' matches '$what'"
        bad=1
    fi
}
for file in "$@"; do
    case $file in
    links | guarded | checked)
        level=$file
        continue
        ;;
    esac
    files=$((files + 1))
    [ -e "$file" ] || { echo "no file $file"; exit 1; }
    wants "$file" 'GNU_RELRO' readelf -lW
    wants "$file" 'GNU_STACK.* RW +0x' readelf -lW
    wants "$file" 'FLAGS.*NOW' readelf -dW
    wants "$file" 'Type: +DYN' readelf -hW
    if readelf -dW "$file" | grep -q TEXTREL; then
        echo "$file: its code is written to while it is loaded (TEXTREL)"
        bad=1
    fi
    [ "$level" = links ] || wants "$file" '__stack_chk_fail' readelf -sW --dyn-syms
    [ "$level" != checked ] || wants "$file" 'UND.* __[a-z]+_chk(@|$)' readelf -sW --dyn-syms
done
[ "$bad" -eq 0 ] && echo "$files files are hardened"
exit "$bad"
