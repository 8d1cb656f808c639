printf "this is not a model\n" > text.onnx
stagecoach inspect text.onnx
