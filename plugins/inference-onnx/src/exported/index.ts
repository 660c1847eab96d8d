// Exports of this folder for tests. Sources import the files directly.
export { readOnnx } from './onnx-parts.ts'
