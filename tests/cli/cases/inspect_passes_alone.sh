stagecoach inspect model.onnx --passes
