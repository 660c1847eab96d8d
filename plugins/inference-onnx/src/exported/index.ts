// The face of this folder for tests. Sources import the files.
export { readOnnx } from './onnx-parts.ts'
