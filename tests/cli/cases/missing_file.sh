stagecoach inspect nowhere.onnx
