# An mpirun that stays when a rank was killed is ended after some seconds; the rank is named, and the exit code is that of the signal.
cat > mpirun <<'SH'
#!/bin/sh
[ "$1" = --version ] && { echo "mpirun (Open MPI) 4.1.4"; exit 0; }
rule=--------------------------------------------------------------------------
printf '%s\nmpirun noticed that process rank 2 with PID 0 on node n1 exited on signal 9 (Killed).\n%s\n' $rule $rule >&2
trap 'exit 1' TERM
while :; do sleep 1; done
SH
chmod +x mpirun
stagecoach launch --mpirun "$PWD/mpirun" -n 3 -- ops
