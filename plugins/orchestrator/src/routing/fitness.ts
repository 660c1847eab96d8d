import type { CapabilityHints } from '@svc/contracts'

/** Points for each requirement that an agent lacks, from the table of the routing score. */
const PENALTIES = { device: -10_000, size: -5_000, preference: -1_500 } as const

/** Capability flags of a host. */
export const DEVICES = [
  'gpu_cuda',
  'gpu_metal',
  'gpu_vulkan',
  'gpu_webgpu',
  'npu',
  'visus_eligible',
  'multi_modal'
] as const satisfies readonly (keyof CapabilityHints)[]

/** One missing requirement. */
export interface Lack {
  readonly what: string
  readonly value: number
  readonly because: string
}

export function hasGpu(agent: CapabilityHints): boolean {
  return agent.gpu_cuda === true || agent.gpu_metal === true || agent.gpu_vulkan === true || agent.gpu_webgpu === true
}

/** Cores that an agent can offer; 0 when unknown. */
function coresOf(agent: CapabilityHints): number {
  return agent.cpu_cores ?? agent.min_cpu_cores ?? 0
}

/** Whether a task has a requirement that an agent could lack. */
export function requiresSomething(task: CapabilityHints): boolean {
  for (const device of DEVICES) if (task[device] === true) return true
  return (task.min_vram_mb ?? 0) > 0 || (task.min_cpu_cores ?? 0) > 0 || task.prefer_gpu_compute === true
}

/**
 * Penalty for missing requirements of a task: 0, or less. An agent's `min_vram_mb` is the memory that its host has.
 * Where `lacks` is given, each thing is added to it.
 */
export function penaltyOf(task: CapabilityHints, agent: CapabilityHints, lacks?: Lack[]): number {
  let penalty = 0
  for (const device of DEVICES) {
    if (task[device] !== true || agent[device] === true) continue
    penalty += PENALTIES.device
    lacks?.push({ what: device, value: PENALTIES.device, because: `the task requires ${device}, which it lacks` })
  }
  const vram = task.min_vram_mb ?? 0
  if (vram > 0 && (agent.min_vram_mb ?? 0) < vram) {
    penalty += PENALTIES.size
    const because = `the task requires ${vram} MiB of video memory, and it has ${agent.min_vram_mb ?? 'none that is known'}`
    lacks?.push({ what: 'min_vram_mb', value: PENALTIES.size, because })
  }
  const cores = task.min_cpu_cores ?? 0
  if (cores > 0 && coresOf(agent) < cores) {
    penalty += PENALTIES.size
    const because = `the task requires ${cores} cores, and it has ${coresOf(agent) || 'none that is known'}`
    lacks?.push({ what: 'min_cpu_cores', value: PENALTIES.size, because })
  }
  if (task.prefer_gpu_compute === true && !hasGpu(agent)) {
    penalty += PENALTIES.preference
    const because = 'the task would rather have a GPU, and it has none'
    lacks?.push({ what: 'prefer_gpu_compute', value: PENALTIES.preference, because })
  }
  return penalty
}

/** Agents with equal signatures lack the same requirements of every task. */
export function signatureOf(agent: CapabilityHints): string {
  let bits = 0
  for (const [index, device] of DEVICES.entries()) if (agent[device] === true) bits |= 1 << index
  return `${bits} ${agent.min_vram_mb ?? 0} ${coresOf(agent)}`
}
