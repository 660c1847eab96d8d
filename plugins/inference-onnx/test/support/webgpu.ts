import {
  DeviceRuntime,
  type DeviceRuntimeOptions,
  findLibrary,
  type Koffi,
  OrtApi,
  ownRequire,
  webgpuTarget
} from '#ort'

export async function openWebgpuRuntime(options?: DeviceRuntimeOptions): Promise<DeviceRuntime> {
  const require = ownRequire()
  return DeviceRuntime.open(new OrtApi(require('koffi') as Koffi, findLibrary(require)), webgpuTarget, options)
}

/**
 * Returns the reason why WebGPU is not available; null if it is. A software driver is enough; VK_DRIVER_FILES names its
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
