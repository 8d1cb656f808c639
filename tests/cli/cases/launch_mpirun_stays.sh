# An mpirun that stays when a rank ended with an error, as it does when a host has gone, is ended after some seconds.
cat > mpirun <<'SH'
#!/bin/sh
[ "$1" = --version ] && { echo "mpirun (Open MPI) 4.1.4"; exit 0; }
rule=--------------------------------------------------------------------------
printf 'stagecoach run: rank 2 on h3: killed or stopped\n' >&2
printf '%s\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n%s\n' \
    $rule $rule >&2
trap 'exit 1' TERM
while :; do sleep 1; done
SH
chmod +x mpirun
stagecoach launch --mpirun "$PWD/mpirun" -n 3 -- ops
