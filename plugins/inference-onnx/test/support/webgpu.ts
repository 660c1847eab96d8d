import type { Koffi } from '../../src/ort/api.ts'
import { OrtApi } from '../../src/ort/api.ts'
import { DeviceRuntime, type DeviceRuntimeOptions } from '../../src/ort/device-runtime.ts'
import { findLibrary, ownRequire } from '../../src/ort/library.ts'
import { webgpuTarget } from '../../src/ort/webgpu-target.ts'

export async function openWebgpuRuntime(options?: DeviceRuntimeOptions): Promise<DeviceRuntime> {
  const require = ownRequire()
  return DeviceRuntime.open(new OrtApi(require('koffi') as Koffi, findLibrary(require)), webgpuTarget, options)
}

/**
 * Reason why WebGPU is not available here; null if it is. A software driver is enough: VK_DRIVER_FILES names its
 * manifest.
 */
export async function webgpuProblem(): Promise<string | null> {
  try {
    const runtime = await openWebgpuRuntime()
    await runtime.close()
    return null
  } catch (error) {
    return `WebGPU finds no Vulkan driver: ${(error as Error).message.split('\n')[0]}`
  }
}
