# Help, man page and the completions of three shells list the same spellings of the same options, command by command.
stagecoach help --man > man
for shell in bash zsh fish; do
    stagecoach help --completion $shell > $shell
done
# "-n, --predict, --n-predict N" and "--[no-]progress" as one spelling a line
spellings() { sed 's/--\[no-\]\([a-z-]*\)/--\1, --no-\1/' | grep -oE '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,' | sort -u; }
in_help() { stagecoach "$1" --help | sed -n '/^options:/,/^examples:/s/^  \(-[^ ,]*\(, -[^ ,]*\)*\).*/\1/p' | spellings; }
in_man() { sed -n "/^\.SS $1\$/,/^Example/s/^\.B \(\\\\-.*\)/\1/p" man | tr -d '\\' | spellings; }
in_bash() { sed -n "s/^        $1) options=\"\(.*\)\" ;;/\1/p" bash | spellings; }
in_zsh() { sed -n "/^        $1) _arguments/,/;;/s/^ *'\**\(-[^[]*\)\[.*/\1/p" zsh | spellings; }
in_fish()
{
    sed -n "s/^complete .*_from $1' \(.*\)/\1/p" fish | sed "s/ -d '.*//; s/ -xa '.*//; s/ -rF//; s/ -x\$//" |
        sed 's/-l /--/g; s/-[so] /-/g' | spellings
}
n=0
for command in $(stagecoach help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    in_help "$command" > help
    for where in man bash zsh fish; do
        "in_$where" "$command" | diff help - || echo "$where (>) is not --help (<) of $command"
    done
    n=$((n + $(wc -l < help)))
done
[ "$n" -gt 100 ] || echo "only $n spellings were found"
# The scripts are programs that their shells read.
bash -n bash
for shell in zsh fish; do
    if command -v "$shell" > /dev/null; then "$shell" -n "$shell"; fi
done
