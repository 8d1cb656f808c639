head -c 1000000 "$root/examples/shakespeare/model.onnx" > model.onnx
stagecoach plan model.onnx -pp 2
