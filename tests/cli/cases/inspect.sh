# What a model holds: file, inputs and outputs with named dims, operators with the version that they get, and a verdict.
cp "$root/examples/embed/model.onnx" .
stagecoach inspect model.onnx
