import { availableParallelism, freemem, hostname, totalmem } from 'node:os'
import { architectureName, declaredGpuMemory, type MeshSettings, type NodeReport } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { GpuFacts, GpuReadiness } from './gpu-probe.ts'

/** Step of the free memory in bytes. */
const MEMORY_STEP_BYTES = 2 ** 30
/** Share of all memory by which the free memory must change before it is reported: each change is sent to all nodes. */
const MEMORY_CHANGE = 1 / 8

/** Class of work in the record of a node that only delegates tasks. Such a node receives none. */
export const ORCHESTRATOR_CLASS = 'orchestrator'

export interface RecordFacts {
  readonly id: string
  readonly version: string
  readonly settings: Pick<MeshSettings, 'scopeId' | 'labels' | 'advertise'>
  readonly listenAddress: string | null
  readonly visibility: string | null
  /** Mailbox of this node, if it runs work of others. */
  readonly inbox: string | null
  readonly gpus: GpuFacts & GpuReadiness
  /** Models in the memory of this machine's model server; null if unknown. */
  readonly loadedModels: readonly string[] | null
  /** Only `HOSTNAME`, `COMPUTERNAME`, `SVC_GPU_MODEL` and `SVC_GPU_VRAM_MB` are read. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Returns the record with which a node joins, and its heartbeat. Absent facts are left out. */
export function nodeReportOf(facts: RecordFacts): NodeReport {
  const { settings, environment, loadedModels } = facts
  const { advertise, labels } = settings
  const name = [environment.HOSTNAME, environment.COMPUTERNAME, hostname()].find(text => text?.trim())
  const cores = availableParallelism()
  return {
    id: facts.id,
    version: facts.version,
    capabilities: {
      ...defined({
        hostname: name,
        device_class: advertise.deviceClass ?? undefined,
        min_vram_mb: declaredGpuMemory(environment)
      }),
      cpu_cores: cores,
      min_cpu_cores: cores,
      arch: architectureName(process.arch),
      ...(advertise.gpu ? { gpu_cuda: true } : null),
      ...(advertise.vulkan ? { gpu_vulkan: true } : null),
      ...(advertise.webgpu ? { gpu_webgpu: true } : null),
      ...(advertise.npu ? { npu: true } : null),
      ...(labels.length > 0 ? { labels: [...labels] } : null)
    },
    ...defined({
      listen_addr: facts.listenAddress ?? undefined,
      scope_id: settings.scopeId ?? undefined,
      visibility: facts.visibility ?? undefined,
      inbox_agent_id: facts.inbox ?? undefined
    }),
    ...facts.gpus,
    memory_free_bytes: steadyMemory(freemem(), totalmem()),
    ...(loadedModels === null ? null : { loaded_llm_models: [...loadedModels] })
  }
}

let reportedMemory = -Infinity

/** Returns the free memory of this machine, in steps; as before, unless it changed much. */
export function steadyMemory(free: number, total: number): number {
  const change = Math.max(MEMORY_STEP_BYTES, total * MEMORY_CHANGE)
  if (Math.abs(free - reportedMemory) >= change)
    reportedMemory = Math.floor(free / MEMORY_STEP_BYTES) * MEMORY_STEP_BYTES
  return reportedMemory
}

/** Returns the record of a node that holds the leases of delegated tasks. */
export function holderReport(id: string, version: string, settings: Pick<MeshSettings, 'scopeId'>): NodeReport {
  return {
    id,
    version,
    capabilities: {},
    workload_classes: [ORCHESTRATOR_CLASS],
    ...defined({ scope_id: settings.scopeId ?? undefined })
  }
}

/** Returns the id of the node that holds the leases of delegated tasks. */
export function holderId(nodeId: string | null, scope: string | null): string {
  return `orch-${nodeId || scope || 'orchestrator-host'}`
}

/** Whether SVC_GPU_MODEL and SVC_GPU_VRAM_MB declare a GPU. */
export function isGpuDeclared(environment: Readonly<Record<string, string | undefined>>): boolean {
  return declaredGpuMemory(environment) !== undefined
}
