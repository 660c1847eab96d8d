import type { Dimension, OnnxGraph } from './graph.ts'

/**
 * Adds the output `argmax`, int64 [rows, 1]: the token with the largest logit in each row of `logits`, float32 [rows,
 * vocabulary]; in a tie, the smallest id.
 *
 * `TopK` defines the order in a tie and, unlike `ArgMax`, does not need cuDNN.
 */
export function addArgmax(graph: OnnxGraph, logits: string, rows: Dimension): void {
  const one = graph.integers('argmax.count', [1])
  graph.nodeWithOutputs('TopK', [logits, one], ['argmax.logit', 'argmax'], { axis: -1 })
  graph.output('argmax', 'int64', [rows, 1])
}
