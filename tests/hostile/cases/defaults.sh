# SPDX-License-Identifier: Apache-2.0
# Inputs that have a default: given ones must fit, names must be right.
model="$root/tests/data/graphs/defaults"
npy x.npy '<f4' '2, 4' 32
npy k.npy '<f4' '1,' 4
npy k2.npy '<f4' '2,' 8
npy ki.npy '<i4' '1,' 4
stagecoach plan "$model" -pp 2 --override k -o plan.json > /dev/null
ranks="1 2 3" accept run "$model" -i x=x.npy
ranks="2 3" accept run "$model" -i x=x.npy -i k=k.npy --plan plan.json
ranks="1 3" accept run "$model" -i x=x.npy --override k,w
ranks=2 accept run "$model" -i x=x.npy --plan plan.json
stagecoach plan "$model" -pp 2 -o folded.json > /dev/null
ranks=2 refuse 3 "folded.json: node 'kk' \(Mul\) is in no stage of the plan" run "$model" -i x=x.npy -i k=k.npy --plan folded.json
ranks="1 2"
refuse 3 "input 'k' has size 2 in dim 0, want 1" run "$model" -i x=x.npy -i k=k2.npy
refuse 3 "input 'k' is int32, want float" run "$model" -i x=x.npy -i k=ki.npy
refuse 3 "input 'x' is missing: give -i x=FILE, or --random SEED to make one" run "$model" -i k=k.npy
refuse 2 "option 'override': the model has no input 'x' with a default" run "$model" -i x=x.npy --override k,x
refuse 2 "option 'override': the model has no input '' with a default" run "$model" -i x=x.npy --override ,
