# SPDX-License-Identifier: Apache-2.0
# A reader that goes away ends the program with one line at most (it may have read enough), and no rank stays behind.
for n in 1 3; do
    set -- generate "$root/examples/shakespeare" -p "ROMEO:" -n 2000 --temp 1 --ignore-eos -c 256
    [ $n = 1 ] || set -- launch -n $n -- "$@"
    ( code=0; timeout 60 stagecoach "$@" 2> ../err || code=$?; echo $code > ../code ) | head -c 20 > /dev/null
    code=$(cat ../code)
    case $code in
        0 | 3) ;;
        *) complain $n "exit code $code" "$@" ;;
    esac
    ! grep -v -e '^$' ../err | grep -q "signal\|PIPE\|----" || complain $n "noise" "$@"
done
for command in "ops" "help --man" "inspect $root/examples/shakespeare"; do
    timeout 60 stagecoach $command 2> ../err | head -n 1 > /dev/null
    ! grep -vx "stagecoach [a-z]*: standard output cannot be written: Broken pipe" ../err || complain 1 "stderr" $command
done
stagecoach ops >&- 2> ../err && complain 1 "closed stdout is no error" ops
stagecoach generate "$decoder" -p x -n 2 >&- 2> ../err && complain 1 "closed stdout is no error" generate
stagecoach inspect nowhere 2>&- > ../out && complain 1 "no error"
stagecoach generate "$decoder" -p "to be" -n 2 --temp 0 <&- > ../out 2> ../err || complain 1 "closed stdin" generate
