import { libraryCommand, providerFiles } from './cuda-provider.ts'
import type { Survey } from './survey.ts'

/** Reason why a device cannot be used, and the next command to run. */
export interface Obstacle {
  /** Names of missing parts: drivers or library files. */
  readonly missing: readonly string[]
  readonly reason: string
  readonly command: string | null
}

/** Returns the obstacle to using CUDA device `index`; null if none is known. */
export function cudaObstacle(found: Survey, index: number, platform: string = process.platform): Obstacle | null {
  if (platform !== 'linux') {
    return { missing: [], reason: 'CUDA is supported only on Linux', command: null }
  }
  const { driver, provider, libraryDirectory } = found
  if (driver === null && found.card === false) {
    return { missing: ['NVIDIA GPU'], reason: 'this machine has no NVIDIA GPU', command: null }
  }
  if (driver === null) {
    return {
      missing: ['NVIDIA driver'],
      reason: 'there is no NVIDIA driver (neither /proc/driver/nvidia/version nor nvidia-smi)',
      command: driverCommand(found.distribution)
    }
  }
  if (driver.gpus.length > 0 && !driver.gpus.some(gpu => gpu.index === index)) {
    const present = driver.gpus.map(gpu => `cuda:${gpu.index} (${gpu.model})`).join(', ')
    return { missing: [`GPU ${index}`], reason: `there is no GPU ${index}, but ${present}`, command: null }
  }
  if (provider === null) {
    return {
      missing: [providerFiles.plugin],
      reason: `ONNX Runtime's CUDA provider is not in ${libraryDirectory}`,
      command: 'svc gpu install'
    }
  }
  const missing = provider.needs.filter(need => need.found === null).map(need => need.name)
  if (missing.length === 0) return null
  return {
    missing,
    reason: `${provider.path} needs ${missing.join(', ')}, which ${missing.length === 1 ? 'is' : 'are'} missing`,
    command: missing.includes('libcuda.so.1')
      ? driverCommand(found.distribution)
      : libraryCommand(missing, libraryDirectory)
  }
}

/** Returns the obstacle to using WebGPU; null if none is known. */
export function webgpuObstacle(found: Survey, platform: string = process.platform): Obstacle | null {
  if (platform !== 'linux') return null
  const { loader, drivers } = found.vulkan
  if (loader === null) {
    return {
      missing: ['libvulkan.so.1'],
      reason: 'the Vulkan loader libvulkan.so.1 is missing',
      command: found.distribution === 'fedora' ? 'sudo dnf install vulkan-loader' : 'sudo apt-get install libvulkan1'
    }
  }
  if (drivers.length > 0) return null
  return {
    missing: ['Vulkan driver'],
    reason: 'no Vulkan driver is installed (no manifest in vulkan/icd.d)',
    command:
      found.distribution === 'fedora'
        ? 'sudo dnf install mesa-vulkan-drivers'
        : 'sudo apt-get install mesa-vulkan-drivers'
  }
}

function driverCommand(distribution: string): string {
  if (distribution === 'ubuntu') return 'sudo ubuntu-drivers install'
  if (['fedora', 'rhel', 'rocky', 'almalinux'].includes(distribution)) return 'sudo dnf install akmod-nvidia'
  return 'sudo apt-get install nvidia-driver'
}
