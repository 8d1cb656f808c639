# SPDX-License-Identifier: Apache-2.0
# Options that are unknown, lack a value, or have one that is none of theirs.
npy x.npy '<f4' '2, 4' 32
npy ids.npy '<i8' '3,' 24
ranks="1 2"
refuse 2 "unknown option '--tmep', did you mean '--temp'\?" generate "$decoder" -p x --tmep 1
refuse 2 "unknown command 'genrate', did you mean 'generate'\?" genrate
refuse 2 "option '-n' needs a value: N" generate "$decoder" -p x -n
ranks=1
for value in abc 1.5 "" " " 99999999999999999999 -1 1e3 0x10 1K; do
    refuse 2 "option '-n': .*" generate "$decoder" -p x -n "$value"
done
for value in abc "" nan inf -1 1e400 101; do
    refuse 2 "option '--temp': .*" generate "$decoder" -p x --temp "$value"
done
for value in abc "" 1X 1KB -1 99999999999999T; do
    refuse 2 "option '--memory': .*" generate "$decoder" -p x --memory "$value"
done
refuse 2 "option '--top-p': '2' is not in 0 to 1" generate "$decoder" -p x --top-p 2
refuse 2 "option '--ignore-eos' takes no value, '1' was given" generate "$decoder" -p x --ignore-eos=1
refuse 2 "option '-n' is given twice" generate "$decoder" -p x -n 1 -n 2
refuse 2 "option '--gemm': 'fast' is not one of own\|blas" generate "$decoder" -p x --gemm fast
refuse 2 "one argument too many: 'b'" inspect a b
refuse 2 "MODEL is missing, as in: stagecoach inspect MODEL" inspect
refuse 2 "option '-c': .*" generate "$decoder" -p x -c -5
refuse 2 "a context of 100000 positions was asked for, the model has room for 64" generate "$decoder" -p x -c 100000
refuse 2 "option '--dim': 'x' is not a size" plan "$mlp" -d N=x
refuse 2 "option '--dim': the model has no dim 'Q'" plan "$mlp" -d Q=1
refuse 2 "option '-n': .*" launch -n 0 -- version
refuse 2 "option '-n': .*" launch -n two -- version
refuse 2 ".*launch cannot start launch" launch -n 2 -- launch -n 2 -- version
refuse 2 ".*-- COMMAND \.\.\. is missing.*" launch -n 2
refuse 2 "unknown command 'frob'; 'stagecoach help' lists them" launch -n 2 -- frob
refuse 2 "'/no/mpirun' not found: .*" launch --mpirun /no/mpirun -- version
refuse 3 "option '--hostfile': '/no/hosts': No such file or directory" launch -n 2 --hostfile /no/hosts -- version
refuse 2 "option '--pin': there is no rank 7 among 1" run "$mlp" --pin 7 -i x=x.npy -i ids=ids.npy
refuse 2 "there is no operator 'Frob'; 'stagecoach ops' lists them" ops Frob
