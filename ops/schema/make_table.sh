#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: make_table.sh AWK OUTPUT TSV...        sorts the rows of all files and writes the C table
set -eu
awk=$1 output=$2
shift 2
tab=$(printf '\t')
grep -hv '^#' "$@" | sort -t "$tab" -k1,1 -k2,2 -k3,3n >"$output.rows"
"$awk" -f "$(dirname "$0")/schema.awk" "$output.rows" >"$output.new"
mv "$output.new" "$output"
