#!/usr/bin/env bash
# build/fuzz.sh NAME FOLDER SECONDS, in services/: one decoder is fed by Go's fuzzer.
set -uo pipefail
code=0
# Go would make each new interesting input small for up to a minute, and feed nothing meanwhile: most of the time.
said=$(go test -run '^$' -fuzz "^$1\$" -fuzztime "${3}s" -fuzzminimizetime 20x "$2" 2>&1) || code=$?
printf '%s\n' "$said"
[ "$code" != 0 ] || exit 0
# At times Go takes the end of the time it was given for a failure; a failure leaves an input, or says something else.
grep -q '^ *context deadline exceeded$' <<<"$said" && ! grep -qE 'Failing input|panic|Fatal' <<<"$said"
