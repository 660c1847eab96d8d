import type { ExecutionTarget } from './execution-target.ts'

/** WebGPU, which the library brings along: Vulkan on Linux, Metal on macOS, Direct3D on Windows. */
export const webgpuTarget: ExecutionTarget = {
  id: 'webgpu',
  addressable: false,
  append(api, _, options) {
    const none = api.strings([])
    api.call('SessionOptionsAppendExecutionProvider', options, 'WebGPU', none.pointers, none.pointers, 0)
  }
}
