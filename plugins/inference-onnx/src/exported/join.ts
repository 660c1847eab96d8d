import type { OnnxGraph } from '../onnx/graph.ts'
import { ProtoWriter } from '../onnx/protobuf.ts'
import type { GraphNode, OnnxParts } from './onnx-parts.ts'
import { protoFields } from './proto-fields.ts'

/** Operators in graph order: new ones, or operators of the export with renamed values. */
export type GraphPiece =
  | { readonly graph: OnnxGraph }
  | { readonly nodes: readonly GraphNode[]; readonly renamed: ReadonlyMap<string, string> }

const GRAPH = 7
const field = { node: 1, name: 2, initializer: 5, input: 11, output: 12 } as const

/** Builds one model from the exported weights and the pieces of its graph. */
export function joinGraphs(parts: OnnxParts, pieces: readonly GraphPiece[]): Uint8Array {
  const [nodes, others] = [[] as Uint8Array[], [] as Uint8Array[]]
  for (const piece of pieces) {
    if ('nodes' in piece) {
      for (const node of piece.nodes) nodes.push(writeNode(node, piece.renamed))
      continue
    }
    for (const { number, raw } of graphFields(piece.graph)) {
      if (number === field.node) nodes.push(raw)
      else if (number !== field.name) others.push(raw)
    }
  }
  const graph = new ProtoWriter()
  for (const raw of nodes) graph.raw(raw)
  graph.string(field.name, 'adapted')
  for (const { raw } of parts.weights) graph.raw(raw)
  for (const raw of others) graph.raw(raw)
  const model = new ProtoWriter().integer(1, parts.irVersion)
  for (const raw of parts.modelFields) model.raw(raw)
  return model.message(GRAPH, graph).finish()
}

function* graphFields(graph: OnnxGraph) {
  for (const { number, bytes } of protoFields(graph.toBytes())) if (number === GRAPH) yield* protoFields(bytes)
}

function writeNode({ operator, domain, inputs, outputs, rest }: GraphNode, renamed: ReadonlyMap<string, string>) {
  const node = new ProtoWriter()
  for (const name of inputs) node.string(1, renamed.get(name) ?? name)
  for (const name of outputs) node.string(2, renamed.get(name) ?? name)
  node.string(4, operator)
  if (domain !== '') node.string(7, domain)
  for (const raw of rest) node.raw(raw)
  return new ProtoWriter().message(field.node, node).finish()
}
