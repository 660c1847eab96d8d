import { availableParallelism, hostname } from 'node:os'
import { architectureName, type CapabilityHints, declaredGpuMemory } from '@svc/contracts'

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
  const vram = declaredGpuMemory(environment)
  return {
    cpu_cores: facts.parallelism,
    min_cpu_cores: facts.parallelism,
    arch: architectureName(facts.arch),
    ...(name === undefined ? {} : { hostname: name }),
    gpu_cuda: advertised.gpu,
    gpu_vulkan: advertised.vulkan,
    gpu_webgpu: advertised.webgpu,
    npu: advertised.npu,
    ...(device_class ? { device_class } : {}),
    ...(vram === undefined ? {} : { min_vram_mb: vram })
  }
}
