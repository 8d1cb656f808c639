# SPDX-License-Identifier: Apache-2.0
# A model that is cut off anywhere is refused, in one line, by everything that reads models.
bytes=$(stat -c %s "$mlp/model.onnx")
ranks=1
for ((n = 0; n < bytes; n += n < 200 ? 7 : 13)); do
    head -c "$n" "$mlp/model.onnx" > model.onnx
    refuse 3 ".+" plan model.onnx
done
ranks="2 3"
for n in 1 100 $((bytes - 1)); do
    head -c "$n" "$mlp/model.onnx" > model.onnx
    refuse 3 ".*model.onnx.*" run model.onnx
done
