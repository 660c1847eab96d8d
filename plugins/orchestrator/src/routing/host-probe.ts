import { availableParallelism, hostname } from 'node:os'
import type { CapabilityHints } from '@svc/contracts'

/** What the settings say that this host has. No driver is asked. */
export interface AdvertisedCapabilities {
  readonly gpu: boolean
  readonly vulkan: boolean
  readonly webgpu: boolean
  readonly npu: boolean
  readonly device_class?: string
  /** Name and mebibytes of a GPU; they count only together. */
  readonly gpu_model?: string
  readonly gpu_vram_mb?: number
  readonly labels?: readonly string[]
}

export interface HostFacts {
  readonly parallelism: number
  /** As Node.js names it. */
  readonly arch: string
  /** `HOSTNAME` and `COMPUTERNAME` are read. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** What the system calls itself, where the environment does not say. */
  readonly hostname: string
}

/** Names of architectures as nodes of the mesh tell them, where Node.js has other ones. */
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

/** What agents on this host have. */
export function probeHost(advertised: AdvertisedCapabilities, facts: HostFacts): CapabilityHints {
  const { environment } = facts
  const name = [environment.HOSTNAME, environment.COMPUTERNAME, facts.hostname].find(text => text?.trim())
  const { device_class, gpu_model, gpu_vram_mb, labels } = advertised
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
    ...(gpu_model && gpu_vram_mb !== undefined && gpu_vram_mb > 0 ? { min_vram_mb: gpu_vram_mb } : {}),
    ...(labels === undefined ? {} : { labels })
  }
}
