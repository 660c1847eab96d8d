import type { CapabilityHints } from '@svc/contracts'

/** Points for each missing requirement, from the table of the routing score. */
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
  readonly requirement: string
  readonly value: number
  readonly because: string
}

export function hasGpu(agent: CapabilityHints): boolean {
  return agent.gpu_cuda === true || agent.gpu_metal === true || agent.gpu_vulkan === true || agent.gpu_webgpu === true
}

/** Returns the cores of an agent; 0 if unknown. */
function coresOf(agent: CapabilityHints): number {
  return agent.cpu_cores ?? agent.min_cpu_cores ?? 0
}

/** Returns true if a task has a requirement that an agent could lack. */
export function requiresSomething(task: CapabilityHints): boolean {
  for (const device of DEVICES) if (task[device] === true) return true
  return (task.min_vram_mb ?? 0) > 0 || (task.min_cpu_cores ?? 0) > 0 || task.prefer_gpu_compute === true
}

/**
 * Returns the penalty for requirements that an agent lacks: 0 or less. An agent's `min_vram_mb` is the memory of its
 * host. Adds each missing requirement to `lacks`, if passed.
 */
export function penaltyOf(task: CapabilityHints, agent: CapabilityHints, lacks?: Lack[]): number {
  let penalty = 0
  for (const device of DEVICES) {
    if (task[device] !== true || agent[device] === true) continue
    penalty += PENALTIES.device
    lacks?.push({
      requirement: device,
      value: PENALTIES.device,
      because: `the task requires ${device}; the agent lacks it`
    })
  }
  const vram = task.min_vram_mb ?? 0
  if (vram > 0 && (agent.min_vram_mb ?? 0) < vram) {
    penalty += PENALTIES.size
    const has = agent.min_vram_mb === undefined ? 'an unknown amount' : `${agent.min_vram_mb} MiB`
    const because = `the task requires ${vram} MiB of video memory; the agent has ${has}`
    lacks?.push({ requirement: 'min_vram_mb', value: PENALTIES.size, because })
  }
  const cores = task.min_cpu_cores ?? 0
  if (cores > 0 && coresOf(agent) < cores) {
    penalty += PENALTIES.size
    const because = `the task requires ${cores} cores; the agent has ${coresOf(agent) || 'an unknown number'}`
    lacks?.push({ requirement: 'min_cpu_cores', value: PENALTIES.size, because })
  }
  if (task.prefer_gpu_compute === true && !hasGpu(agent)) {
    penalty += PENALTIES.preference
    const because = 'the task prefers a GPU; the agent has none'
    lacks?.push({ requirement: 'prefer_gpu_compute', value: PENALTIES.preference, because })
  }
  return penalty
}

/** Returns a key of an agent's capabilities: agents with equal keys lack the same requirements of every task. */
export function signatureOf(agent: CapabilityHints): string {
  let bits = 0
  for (const [index, device] of DEVICES.entries()) if (agent[device] === true) bits |= 1 << index
  return `${bits} ${agent.min_vram_mb ?? 0} ${coresOf(agent)}`
}
