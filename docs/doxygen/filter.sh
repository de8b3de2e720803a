#!/bin/sh
# The public headers as Doxygen wants them: a comment on lines of its own belongs to what follows, one beside a
# declaration to that, the first one to the file. Headings between sections stay what they are.
awk '
FNR == 1 && /^\/\*/ { sub(/^\/\*/, "/** @file"); print; next }
/^ *\/\* ----/ { print; next }
/^ *\/\*/ { sub(/\/\*/, "/**"); print; next }
/\/\*/ { sub(/\/\*/, "/**<"); print; next }
{ print }' "$1"
