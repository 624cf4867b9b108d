// reduce_sum(x + y*z): one kernel, no intermediate buffer.
module @seed {
  func.func public @main(%x: tensor<1048576xf32>, %y: tensor<1048576xf32>, %z: tensor<1048576xf32>) -> tensor<f32> {
    %0 = stablehlo.multiply %y, %z : tensor<1048576xf32>
    %1 = stablehlo.add %x, %0 : tensor<1048576xf32>
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}
