// Exports of this folder for tests. Sources import the files directly.
export { bucketOf } from '../onnx/encoder-attention.ts'
export { Batches, chooseBatch } from './batches.ts'
export { EncoderTokens, pieces } from './encoder-tokens.ts'
export { OnnxEmbeddings } from './engine.ts'
