# SPDX-License-Identifier: Apache-2.0
# What the cases share. A case runs in an empty folder with `stagecoach` and `make_model` on the path, $root the source
# folder and $decoder, $control, $mlp, ... the folders of the models of tests/hostile/models.
# It says what went wrong on stdout; silence is success.

# Runs a command on N ranks; its output is in ../out and ../err, its exit code in $code.
on_ranks() # N COMMAND...
{
    local n=$1
    shift
    if [ "$n" -gt 1 ]; then
        set -- launch -n "$n" -- "$@"
    fi
    code=0
    timeout -k 1 "$limit" stagecoach "$@" < "${input:-/dev/null}" > "${output:-../out}" 2> ../err || code=$?
}

complain() # N TEXT COMMAND...
{
    echo "on $1 rank(s): $2: stagecoach ${*:3}"
    sed 's/^/    err: /' ../err | head -n 20
    failures=$((failures + 1))
}

# The command must fail: with this exit code, one line on stderr that the extended regular expression matches whole
# after "stagecoach COMMAND: ", nothing on stdout, and no file made or changed; within the time limit on each number of ranks.
refuse() # CODE PATTERN COMMAND...
{
    local wanted=$1 pattern=$2 n before after
    shift 2
    for n in ${ranks:-1 3}; do
        before=$(find . -type f -exec cksum {} + | sort)
        on_ranks "$n" "$@"
        if [ -n "${report-}" ]; then # the tables of a run that began come before the line
            sed -i '/^stagecoach/!d' ../err
        fi
        after=$(find . -type f -exec cksum {} + | sort)
        if [ "$code" != "$wanted" ]; then
            complain "$n" "exit code $code, want $wanted" "$@"
        elif [ "$(wc -l < ../err)" != 1 ] || ! grep -Eqx "stagecoach( [a-z]+)?: (rank [0-9]+ on [^ ]+: )?$pattern" ../err; then
            complain "$n" "stderr is not one line '$pattern'" "$@"
        elif [ -z "${output-}" ] && [ -s ../out ]; then
            complain "$n" "something was written to stdout" "$@"
        elif [ "$before" != "$after" ]; then
            complain "$n" "files were made or changed" "$@"
        fi
    done
}

# The command must succeed; stderr is in ../err, stdout in ../out.
accept() # COMMAND...
{
    local n
    for n in ${ranks:-1 3}; do
        on_ranks "$n" "$@"
        [ "$code" = 0 ] || complain "$n" "exit code $code, want 0" "$@"
    done
}
failures=0
limit=60 # seconds of a command: so much that only one that hangs takes them

# A .npy file: header of 80 bytes, then zeros.
npy() # FILE DESCR SHAPE BYTES
{
    printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': ($3), }" > "$1"
    head -c "$4" /dev/zero >> "$1"
}
