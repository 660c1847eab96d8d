import { OnnxGraph } from './graph.ts'

/**
 * Builds the model that applies a low-rank update to some rows of a weight: `merged = weight + b * a`.
 *
 * Inputs: `weight` [rows, in], `b` [rows, rank], `a` [rank, in]; output: `merged` [rows, in]; all float32.
 */
export function buildLowRankUpdate(): Uint8Array {
  const graph = new OnnxGraph('low-rank-update')
  graph.input('weight', 'float32', ['rows', 'in'])
  graph.input('b', 'float32', ['rows', 'rank'])
  graph.input('a', 'float32', ['rank', 'in'])
  graph.node('Gemm', ['b', 'a', 'weight'], 'merged')
  graph.output('merged', 'float32', ['rows', 'in'])
  return graph.toBytes()
}
