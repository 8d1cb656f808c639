# An mpirun that takes too long to end a job whose rank has failed is ended; the exit code is still the rank's.
cat > mpirun <<'SH'
#!/bin/sh
[ "$1" = --version ] && { echo "mpirun (Open MPI) 4.1.4"; exit 0; }
while [ "$1" != run ]; do program=$1; shift; done
rule=--------------------------------------------------------------------------
"$program" "$@" 2>&1 | sed 's/run:/run: rank 0 on h1:/' >&2
printf '%s\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n%s\n' \
    $rule $rule >&2
trap 'echo "*** Process received signal ***" >&2; exit 1' TERM
while :; do sleep 1; done
SH
chmod +x mpirun
stagecoach launch --mpirun "$PWD/mpirun" -n 3 -- run nowhere.onnx
