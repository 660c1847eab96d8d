import { availableParallelism, hostname } from 'node:os'
import type { CapabilityHints } from '@svc/contracts'

/** Resources of this host from the settings. No driver is queried. */
export interface AdvertisedCapabilities {
  readonly gpu: boolean
  readonly vulkan: boolean
  readonly webgpu: boolean
  readonly npu: boolean
  readonly device_class?: string | undefined
}

export interface HostFacts {
  readonly parallelism: number
  /** As Node.js names it. */
  readonly arch: string
  /** `HOSTNAME`, `COMPUTERNAME`, `SVC_GPU_MODEL` and `SVC_GPU_VRAM_MB` are read. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Name of the system, where the environment does not have it. */
  readonly hostname: string
}

/** Architecture names of the mesh that differ from those of Node.js. */
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

/** Capabilities of agents on this host. */
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

/** Mebibytes of the GPU. Model and memory count only together, as for the inference engine, whose variables they are. */
function vramOf({ SVC_GPU_MODEL: model, SVC_GPU_VRAM_MB: memory }: HostFacts['environment']): number | null {
  const megabytes = Number(memory)
  return model && Number.isSafeInteger(megabytes) && megabytes > 0 ? megabytes : null
}
