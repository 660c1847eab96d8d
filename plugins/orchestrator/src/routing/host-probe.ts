import { availableParallelism, hostname } from 'node:os'
import type { CapabilityHints } from '@svc/contracts'

/** Resources of this host, from the settings; no driver is queried. */
export interface AdvertisedCapabilities {
  readonly gpu: boolean
  readonly vulkan: boolean
  readonly webgpu: boolean
  readonly npu: boolean
  readonly device_class?: string | undefined
}

export interface HostFacts {
  readonly parallelism: number
  /** Architecture, as in `process.arch`. */
  readonly arch: string
  /** Environment; only `HOSTNAME`, `COMPUTERNAME`, `SVC_GPU_MODEL` and `SVC_GPU_VRAM_MB` are read. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Host name from the operating system, used if the environment has none. */
  readonly hostname: string
}

/** Architecture names of the mesh, by the different names of Node.js. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: 'x86_64',
  ia32: 'x86',
  arm64: 'aarch64',
  loong64: 'loongarch64',
  ppc64: 'powerpc64'
}

export function hostFacts(): HostFacts {
  return {
    parallelism: availableParallelism(),
    arch: process.arch,
    environment: process.env,
    hostname: hostname()
  }
}

/** Returns the capabilities of agents on this host. */
export function probeHost(advertised: AdvertisedCapabilities, facts: HostFacts): CapabilityHints {
  const { environment } = facts
  const name = [environment.HOSTNAME, environment.COMPUTERNAME, facts.hostname].find(text => text?.trim())
  const { device_class } = advertised
  const vram = vramOf(environment)
  return {
    cpu_cores: facts.parallelism,
    min_cpu_cores: facts.parallelism,
    arch: ARCHITECTURES[facts.arch] ?? facts.arch,
    ...(name === undefined ? {} : { hostname: name }),
    gpu_cuda: advertised.gpu,
    gpu_vulkan: advertised.vulkan,
    gpu_webgpu: advertised.webgpu,
    npu: advertised.npu,
    ...(device_class ? { device_class } : {}),
    ...(vram === null ? {} : { min_vram_mb: vram })
  }
}

/** Returns the mebibytes of the GPU; null unless model and memory are both set, as in the inference engine. */
function vramOf({ SVC_GPU_MODEL: model, SVC_GPU_VRAM_MB: memory }: HostFacts['environment']): number | null {
  const megabytes = Number(memory)
  return model && Number.isSafeInteger(megabytes) && megabytes > 0 ? megabytes : null
}
