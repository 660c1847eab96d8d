import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** True if the CUDA library of ONNX Runtime is installed. */
export function hasCudaProvider(): boolean {
  try {
    const root = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'))
    const folder = join(root, 'bin', 'napi-v6', process.platform, process.arch)
    return ['libonnxruntime_providers_cuda.so', 'onnxruntime_providers_cuda.dll'].some(name =>
      existsSync(join(folder, name))
    )
  } catch {
    return false
  }
}
