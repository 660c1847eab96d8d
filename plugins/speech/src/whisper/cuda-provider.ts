import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { onnxRuntimeFolder } from '@svc/contracts'

/** True if the CUDA library of ONNX Runtime is installed. */
export function hasCudaProvider(): boolean {
  try {
    const folder = onnxRuntimeFolder(createRequire(import.meta.url))
    return ['libonnxruntime_providers_cuda.so', 'onnxruntime_providers_cuda.dll'].some(name =>
      existsSync(join(folder, name))
    )
  } catch {
    return false
  }
}
