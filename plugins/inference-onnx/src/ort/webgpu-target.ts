import type { ExecutionTarget } from './execution-target.ts'

/** WebGPU, which ONNX Runtime includes. It uses Vulkan on Linux, Metal on macOS, Direct3D on Windows. */
export const webgpuTarget: ExecutionTarget = {
  id: 'webgpu',
  addressable: false,
  concurrent: false,
  append(api, _, options, capture) {
    const names = api.strings(capture ? ['enableGraphCapture'] : [])
    const values = api.strings(capture ? ['1'] : [])
    const count = names.texts.length
    api.call('SessionOptionsAppendExecutionProvider', options, 'WebGPU', names.pointers, values.pointers, count)
  }
}
