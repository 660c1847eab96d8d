import { OnnxGraph } from '../onnx/graph.ts'

/**
 * Builds a model that copies rows: `target[target_rows[i]] = source[source_rows[i]]`, both float32 [rows, width]. Bind
 * the output to the target's memory, so that other rows stay unchanged.
 */
export function buildRowCopy(): Uint8Array {
  const graph = new OnnxGraph('row-copy')
  const source = graph.input('source', 'float32', ['source_height', 'width'])
  const target = graph.input('target', 'float32', ['target_height', 'width'])
  const from = graph.input('source_rows', 'int64', ['rows'])
  const to = graph.input('target_rows', 'int64', ['rows', 1])
  const rows = graph.node('Gather', [source, from], 'values', { axis: 0 })
  graph.node('ScatterND', [target, to, rows], 'copied')
  graph.output('copied', 'float32', ['target_height', 'width'])
  return graph.toBytes()
}

/** Builds a model that writes zeros; the input `shape` contains the shape. */
export function buildZeros(rank: number): Uint8Array {
  const graph = new OnnxGraph('zeros')
  graph.node('ConstantOfShape', [graph.input('shape', 'int64', [rank])], 'zeros')
  graph.output(
    'zeros',
    'float32',
    Array.from({ length: rank }, (_, axis) => `d${axis}`)
  )
  return graph.toBytes()
}
