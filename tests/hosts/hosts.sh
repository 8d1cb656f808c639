# SPDX-License-Identifier: Apache-2.0
# Several hosts on this machine: network namespaces with names and addresses of their own, their cables in one bridge. MPI between
# them goes over TCP, no memory is shared, and each has one core, of its own while there are enough. Sourced by the tests beside it;
# root alone can make them.
#
#   hosts_need            ends the test as skipped, exit code 77, saying why, where there can be none
#   hosts_up N            hosts h1 ... hN, at 10.77.0.1 ... N; they go when the shell ends
#   hosts_rate K RATE     what hK sends goes at this rate, such as 100mbit
#   hosts_cut K           pulls the cable of hK
#   hosts_launch N STAGECOACH ARGS    `stagecoach launch` on h1, one rank a host
#   hosts_mpirun N CMD    N ranks of CMD, one a host, started by mpirun on h1; each in the folder $hosts_work/hK of its host
work=${work:?a folder for files of the test}
hosts_work=$work/hosts hosts_prefix=sc$$ hosts_n=0

hosts_need()
{
    local why=
    [ "$(id -u)" = 0 ] || why="only root makes network namespaces"
    for tool in ip tc taskset unshare; do
        [ -n "$why" ] || command -v "$tool" > /dev/null || why="there is no '$tool'"
    done
    [ -n "$why" ] || why=$(hosts_try | head -n 1)
    [ -z "$why" ] || { echo "skipped: $why"; exit 77; }
}

# Why there can be no hosts here: each thing that they need is made once. A container may be root and yet be forbidden to make
# namespaces, cables or, for what `ip netns exec` shows of /sys, mounts.
hosts_try()
{
    local name=$hosts_prefix-try told
    told=$(ip netns add "$name" 2>&1) || { echo "no network namespace can be made: ${told%%$'\n'*}"; return; }
    told=$(ip netns exec "$name" unshare --uts sh -c 'hostname try && ip link set lo up' 2>&1) ||
        echo "nothing can be run in a network namespace: ${told%%$'\n'*}"
    told=$({ ip link add "$name" type bridge && ip link del "$name"; } 2>&1) || echo "no bridge can be made: ${told%%$'\n'*}"
    told=$(ip link add "$name" type veth peer name e0 netns "$name" 2>&1) || echo "no cable can be made: ${told%%$'\n'*}"
    told=$(ip netns exec "$name" tc qdisc add dev lo root handle 1: htb default 1 2>&1) || echo "no rate can be set: ${told%%$'\n'*}"
    ip netns del "$name" 2> /dev/null
}

hosts_up()
{
    mkdir -p "$hosts_work"
    trap hosts_down EXIT
    ip link add "$hosts_prefix" type bridge
    ip link set "$hosts_prefix" up
    for hosts_n in $(seq "$1"); do
        local name=$hosts_prefix-$hosts_n
        ip netns add "$name"
        ip link add "$name" type veth peer name e0 netns "$name"
        ip link set "$name" master "$hosts_prefix" up
        ip -n "$name" addr add "10.77.0.$hosts_n/24" dev e0
        ip -n "$name" link set e0 up
        ip -n "$name" link set lo up
        echo "10.77.0.$hosts_n slots=1" >> "$hosts_work/hostfile"
        mkdir -p "$hosts_work/h$hosts_n"
    done
    # what mpirun starts its daemons with, in place of ssh: ADDRESS COMMAND...
    cat > "$hosts_work/agent" << END
#!/bin/sh
number=\${1##*.}
shift
exec taskset -c \$(((number - 1) % $(nproc))) ip netns exec "$hosts_prefix-\$number" unshare --uts sh -c "hostname h\$number; \$*"
END
    printf '#!/bin/sh\ncd "%s/$(hostname)" && exec "$@"\n' "$hosts_work" > "$hosts_work/at_home"
    chmod +x "$hosts_work/agent" "$hosts_work/at_home"
}

hosts_down()
{
    local pids
    for number in $(seq "$hosts_n"); do
        pids=$(ip netns pids "$hosts_prefix-$number" 2> /dev/null)
        [ -z "$pids" ] || kill -KILL $pids 2> /dev/null
        ip netns del "$hosts_prefix-$number" 2> /dev/null
    done
    ip link del "$hosts_prefix" 2> /dev/null
    rm -rf "$work"
}

# By htb, which lets a large packet go and then waits; tbf cuts it into small ones, at the cost of more CPU time than some
# kernels of ours take.
hosts_rate()
{
    local tc="ip netns exec $hosts_prefix-$1 tc"
    $tc qdisc show dev e0 | grep -q htb || $tc qdisc add dev e0 root handle 1: htb default 1
    $tc class replace dev e0 parent 1: classid 1:1 htb rate "$2" burst 64kb quantum 65536
}

hosts_cut()
{
    ip -n "$hosts_prefix-$1" link set e0 down
}

# mpirun, also as `stagecoach launch` starts it, goes by these
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=e0 \
    OMPI_MCA_oob_tcp_if_include=e0 OMPI_MCA_orte_tmpdir_base=$hosts_work OMPI_MCA_plm_rsh_agent=$hosts_work/agent

hosts_on_first()
{
    taskset -c 0 ip netns exec "$hosts_prefix-1" unshare --uts sh -c 'hostname h1; exec "$@"' sh "$@"
}

hosts_launch()
{
    hosts_on_first "$2" launch -n "$1" --hostfile "$hosts_work/hostfile" -- "${@:3}"
}

hosts_mpirun()
{
    hosts_on_first mpirun --hostfile "$hosts_work/hostfile" --bind-to none -n "$1" "$hosts_work/at_home" "${@:2}"
}
