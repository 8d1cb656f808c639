# SPDX-License-Identifier: Apache-2.0
# Models of operators, versions and types that are not there, or that break the rules of theirs.
model() { make_model bad.onnx; }
everywhere() { refuse 3 "$1" plan bad.onnx; ranks="1 3" refuse 3 "$1" run bad.onnx -i x=x.npy; }
npy x.npy '<f4' '2, 3' 24
head='ir 10
opset ai.onnx 23
in x float 2 3'

model << END
$head
node Frobnicate x -> y
out y float 2 3
END
everywhere "'bad.onnx': node 'y' \(Frobnicate\): .*"
model << END
$head
node Relu@com.example x -> y
out y float 2 3
END
everywhere "'bad.onnx': node 'y' \(Relu\): .*com.example.*"
model << END
ir 10
opset ai.onnx 99
in x float 2 3
node Relu x -> y
out y float 2 3
END
everywhere ".*99.*"
model << END
ir 99
opset ai.onnx 23
in x float 2 3
node Relu x -> y
out y float 2 3
END
everywhere "'bad.onnx' has IR version 99, known are 3 to 14"
model << END
ir 10
in x float 2 3
node Relu x -> y
out y float 2 3
END
everywhere "'bad.onnx' imports no operator set"
model << END
$head
node Relu x,x -> y
out y float 2 3
END
everywhere "'bad.onnx': node 'y' \(Relu\): .*2 inputs.*"
model << END
$head
node Relu nothing -> y
out y float 2 3
END
everywhere "'bad.onnx': node 'y' \(Relu\): input 'nothing' .*"
model << END
$head
node Relu x -> y slope=f:1
out y float 2 3
END
everywhere "'bad.onnx': node 'y' \(Relu\): .*'slope'.*"
model << END
$head
node Softmax x -> y axis=s:last
out y float 2 3
END
everywhere "'bad.onnx': node 'y' \(Softmax\): .*'axis'.*"
model << END
$head
node Softmax x -> y axis=i:7
out y float 2 3
END
everywhere "'bad.onnx': node 'y' \(Softmax\): .*axis.*7.*"
model << END
$head
weight w float 4 5
node MatMul x,w -> y
out y float 2 5
END
everywhere "'bad.onnx': node 'y' \(MatMul\): .*"
model << END
$head
weight w int64 3 = 1
node Add x,w -> y
out y float 2 3
END
everywhere "'bad.onnx': node 'y' \(Add\): .*"
model << END
$head
node Relu x -> y
node Neg x -> y
out y float 2 3
END
everywhere ".*'y' is defined twice"
model << END
$head
node Relu z -> y
node Relu y -> z
out z float 2 3
END
everywhere "'bad.onnx': node 'y' \(Relu\): input 'z' .*"
model << END
$head
node Relu x -> y
out z float 2 3
END
everywhere ".*'z'.*"
