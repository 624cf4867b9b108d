// a*x + y
func.func @main(%a: tensor<f32>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.multiply %0, %x : tensor<8xf32>
  %2 = stablehlo.add %1, %y : tensor<8xf32>
  return %2 : tensor<8xf32>
}
