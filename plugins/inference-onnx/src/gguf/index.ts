// Exports of this folder for tests. Sources import the files directly.
export { ggufConfiguration } from './configuration.ts'
export { dequantise } from './dequantise.ts'
export { type BlockEncoding, blockSizes } from './element-types.ts'
export { findGguf } from './files.ts'
export { readGgufModel } from './gguf-model.ts'
export { parseGguf, readGguf } from './read-gguf.ts'
export { checkpointTensors } from './tensors.ts'
export { ggufTokenizer } from './tokenizer.ts'
