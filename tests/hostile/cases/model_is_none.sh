# SPDX-License-Identifier: Apache-2.0
# What is given as a model is none.
printf 'just text\n' > text.onnx
: > empty.onnx
mkdir folder several locked
cp "$mlp/model.onnx" several/a.onnx
cp "$mlp/model.onnx" several/b.onnx
mkfifo pipe
for command in "inspect" "plan" "run" "generate -p x"; do
    refuse 3 "'nowhere.onnx': No such file or directory" $command nowhere.onnx
done
ranks=1
for command in "inspect" "plan" "run" "generate -p x"; do
    refuse 3 "'text.onnx'.*" $command text.onnx
    refuse 3 "'empty.onnx'.*" $command empty.onnx
    refuse 3 "'folder' has no model.onnx and no other .onnx file: name the file" $command folder
    refuse 3 "'several' has no model.onnx and more than one other .onnx file: name the file" $command several
    refuse 3 "'pipe': is a device or pipe, want a regular file" $command pipe
    refuse 3 "'/dev/zero': is a device or pipe, want a regular file" $command /dev/zero
    refuse 3 "'text.onnx/model.onnx': Not a directory" $command text.onnx/model.onnx
    refuse 3 "''.*" $command ''
done
refuse 3 "'nowhere' is not a folder that can be read" verify nowhere
refuse 3 "'folder' holds no model.onnx, nor does a folder in it" verify folder
cp "$mlp/model.onnx" secret.onnx
chmod 000 secret.onnx
if [ ! -r secret.onnx ]; then # root reads everything
    refuse 3 "'secret.onnx': Permission denied" inspect secret.onnx
fi
