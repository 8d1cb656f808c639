# SPDX-License-Identifier: Apache-2.0
# Outputs that cannot be written: said before anything is computed where that is possible, nothing partial left.
npy x.npy '<f4' '2, 4' 32
npy ids.npy '<i8' '3,' 24
inputs="-i x=x.npy -i ids=ids.npy"
: > file
refuse 3 "'file' is no folder, want one for the outputs" run "$mlp" $inputs -o file
refuse 3 ".*'no/such'.*No such file or directory" run "$mlp" $inputs -o no/such
refuse 3 ".*'/proc/x'.*" run "$mlp" $inputs -o /proc/x
refuse 2 "option '--format' says how files are written: give -o DIR too" run "$mlp" $inputs --format pb
refuse 2 "option '--format': 'csv' is not one of npy\|pb" run "$mlp" $inputs -o out --format csv
mkdir -p taken/ct.npy
refuse 3 ".*taken/ct.npy.*" run "$mlp" $inputs -o taken
ranks=1 refuse 3 ".*'no/such/plan.json'.*" plan "$mlp" -pp 2 -o no/such/plan.json
ranks=1 output=/dev/null refuse 3 ".*'/dev/full'.*No space left on device" plan "$mlp" -pp 2 -o /dev/full
output=/dev/full report=yes
for command in "generate $decoder -p to -n 2" "run $mlp $inputs" "plan $mlp" "inspect $mlp" "ops" "help" "version" "ops Add"; do
    ranks=1 refuse 3 "standard output cannot be written: No space left on device" $command
done
ranks="2 3" refuse 3 "standard output cannot be written: No space left on device" generate "$decoder" -p to -n 2
unset output report
small=$(mktemp -d)
if mount -t tmpfs -o size=64k none "$small" 2> /dev/null; then
    head -c 60k /dev/zero > "$small/full"
    ranks="1 2" refuse 3 ".*$small/out.*" run "$mlp" $inputs -o "$small/out"
    [ ! -e "$small/out" ] || complain 1 "the full folder was left"
    mkdir "$small/out"
    printf old > "$small/out/sum.npy"
    refuse 3 "'$small/out/(sum|ct).npy': No space left on device" run "$mlp" -i x=x.npy -d K=4000 --random 1 -o "$small/out"
    [ "$(ls -A "$small/out")" = sum.npy ] && [ "$(cat "$small/out/sum.npy")" = old ] ||
        complain 1 "the full folder is not as it was"
    umount "$small"
fi
rmdir "$small"
