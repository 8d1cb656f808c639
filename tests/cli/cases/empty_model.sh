: > model.onnx
stagecoach inspect model.onnx
