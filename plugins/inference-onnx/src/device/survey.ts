import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CudaProvider, findCudaProvider } from './cuda-provider.ts'
import type { Host } from './host.ts'
import { type ConfiguredGpu, findNvidiaDriver, hasNvidiaCard, type NvidiaDriver } from './nvidia.ts'
import { SharedLibraries } from './shared-libraries.ts'
import { findVulkan, type Vulkan } from './vulkan.ts'

export interface SurveyOptions {
  readonly host: Host
  /** Folder into which `svc gpu install` installs: the CUDA provider, and CUDA libraries at any depth. */
  readonly libraryDirectory: string
  /** Folder of ONNX Runtime's library, which may contain the provider; null if it is not installed. */
  readonly coreFolder: string | null
  readonly configuredGpu: ConfiguredGpu | null
}

/** GPUs, drivers and libraries of a machine. */
export interface Survey {
  /** True if the machine has an NVIDIA card; null if unknown. */
  readonly card: boolean | null
  readonly driver: NvidiaDriver | null
  readonly provider: CudaProvider | null
  readonly vulkan: Vulkan
  readonly libraryDirectory: string
  /** `ID` of /etc/os-release, such as `debian`. */
  readonly distribution: string
}

/** Inspects the machine without loading a library. */
export async function survey(options: SurveyOptions): Promise<Survey> {
  const { host, libraryDirectory, coreFolder, configuredGpu } = options
  const libraries = new SharedLibraries(host, [libraryDirectory])
  const folders = coreFolder === null ? [libraryDirectory] : [libraryDirectory, coreFolder]
  const [card, driver, provider, vulkan, distribution] = await Promise.all([
    hasNvidiaCard(host),
    findNvidiaDriver(host, configuredGpu),
    findCudaProvider(folders, libraries),
    findVulkan(host, libraries),
    distributionOf(host)
  ])
  return { card, driver, provider, vulkan, libraryDirectory, distribution }
}

async function distributionOf({ root }: Host): Promise<string> {
  const text = await readFile(join(root, '/etc/os-release'), 'utf8').catch(() => '')
  return /^ID="?([a-z]+)/m.exec(text)?.[1] ?? ''
}
