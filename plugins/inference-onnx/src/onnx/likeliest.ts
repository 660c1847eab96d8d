import type { Dimension, OnnxGraph } from './graph.ts'

/**
 * Adds the output `likeliest`, int64 [rows, 1]: of each row of `logits`, float32 [rows, vocabulary], the token with the
 * largest one, of equals the first.
 *
 * `TopK` says which of equals it takes, and unlike `ArgMax` it needs no cuDNN.
 */
export function addLikeliest(graph: OnnxGraph, logits: string, rows: Dimension): void {
  const one = graph.integers('likeliest.count', [1])
  graph.nodeWithOutputs('TopK', [logits, one], ['likeliest.logit', 'likeliest'], { axis: -1 })
  graph.output('likeliest', 'int64', [rows, 1])
}
