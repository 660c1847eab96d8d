// Packs ONNX Runtime, one package for each platform: node tools/pack-onnxruntime.mjs DIR [linux-x64 …]
import { tsImport } from 'tsx/esm/api'

const { packOnnxRuntime } = await tsImport('./release/onnx-runtime.ts', import.meta.url)
const [out, ...platforms] = process.argv.slice(2)
if (out === undefined) throw new Error('the folder for the files is missing: node tools/pack-onnxruntime.mjs DIR')
for (const file of packOnnxRuntime(out, platforms)) console.log(file)
