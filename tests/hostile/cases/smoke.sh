# SPDX-License-Identifier: Apache-2.0
# The models that the other cases break do run.
accept generate "$decoder" -p "to be" -n 4 --temp 0
cp ../out one
ranks="2 3" accept generate "$decoder" -p "to be" -n 4 --temp 0 -pp 2
cmp one ../out
npy x.npy '<f4' '2, 4' 32
npy ids.npy '<i8' '3,' 24
accept run "$mlp" -i x=x.npy -i ids=ids.npy -o out
ls out | grep -qx 'ct.npy' || complain 1 "no output ct.npy"
