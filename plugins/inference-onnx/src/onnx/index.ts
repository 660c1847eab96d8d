// Exports of this folder for tests. Sources import the files directly.
export { addArgmax } from './argmax.ts'
export { buildDecoder } from './decoder.ts'
export { type ExternalTensor, OnnxGraph, type Precision } from './graph.ts'
export { linear } from './linear.ts'
export { buildLowRankUpdate } from './low-rank.ts'
export { ProtoWriter } from './protobuf.ts'
