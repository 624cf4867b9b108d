// Scores of six items, softmax(features x weights), and the items from the best to the worst.
func.func @main(%features: tensor<6x3xf32>, %weights: tensor<3xf32>) -> (tensor<6xf32>, tensor<6xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %scores = stablehlo.dot_general %features, %weights, contracting_dims = [1] x [0]
    : (tensor<6x3xf32>, tensor<3xf32>) -> tensor<6xf32>
  %most = stablehlo.reduce(%scores init: %least) applies stablehlo.maximum across dimensions = [0]
    : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  %0 = stablehlo.broadcast_in_dim %most, dims = [] : (tensor<f32>) -> tensor<6xf32>
  %1 = stablehlo.subtract %scores, %0 : tensor<6xf32>
  %2 = stablehlo.exponential %1 : tensor<6xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<6xf32>
  %5 = stablehlo.divide %2, %4 : tensor<6xf32>
  %items = stablehlo.iota dim = 0 : tensor<6xi32>
  %6:2 = "stablehlo.sort"(%5, %items) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %c = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<6xf32>, tensor<6xi32>) -> (tensor<6xf32>, tensor<6xi32>)
  return %5, %6#1 : tensor<6xf32>, tensor<6xi32>
}
