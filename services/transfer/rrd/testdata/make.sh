#!/bin/bash
# Makes the files of services/transfer/rrd/testdata with Debian's rrdtool 1.7.2: make.sh FOLDER
set -euo pipefail
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
export TZ=UTC LC_ALL=C.UTF-8
start=1700000000
rrdtool create "$work/router.rrd" --start "$start" --step 60 DS:in:COUNTER:120:0:U DS:temperature:GAUGE:120:U:U \
  RRA:AVERAGE:0.5:1:30 RRA:AVERAGE:0.5:5:24 RRA:AVERAGE:0.5:30:12 RRA:MAX:0.5:5:24
counter=1000
for ((i = 1; i <= 240; i++)); do
  counter=$((counter + 37 * (i % 11)))
  t=$((start + 60 * i))
  if ((i > 100 && i < 110 || i == 225)); then continue; fi # nothing is known of this time
  rrdtool update "$work/router.rrd" "$t:$counter:$((20 + i % 7)).5"
done
rrdtool dump "$work/router.rrd" "$1/router.xml"
