import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { defined } from '@svc/plugin-sdk'

const execute = promisify(execFile)
/** Time limit of a program in milliseconds, since a broken driver may hang. */
const TIMEOUT_MS = 10_000
/** Age of a probe in milliseconds at which it is repeated. */
const PROBE_MS = 300_000
const QUERY = ['--query-gpu=index,name,memory.total,driver_version', '--format=csv,noheader,nounits']
/** A GPU with memory errors that were not corrected returns wrong results until it is reset. */
const HEALTH = ['--query-gpu=index,ecc.errors.uncorrected.volatile.total', '--format=csv,noheader,nounits']
/** Report whose head has the CUDA version, for which there is no query. */
const REPORT = ['-q', '-d', 'COMPUTE']

/** Runs a program and returns its standard output. Rejects if the program is missing, fails or exceeds the limit. */
export type RunProgram = (program: string, args: readonly string[], signal: AbortSignal) => Promise<string>

const runProgram: RunProgram = async (program, args, signal) => {
  const { stdout } = await execute(program, [...args], { timeout: TIMEOUT_MS, windowsHide: true, signal })
  return stdout
}

/** Fields of a node record that describe the GPUs of a host. */
export interface GpuFacts {
  readonly gpu_total_count?: number
  readonly gpu_healthy_count?: number
  readonly gpu_allocatable_count?: number
  /** `nvidia-smi`, or `settings` if the GPU is configured. */
  readonly gpu_inventory_source?: string
  /** `driver`: the driver was queried. `declared`: only settings say so. */
  readonly gpu_truth_layer?: string
  readonly nvidia_driver_version?: string
  readonly cuda_driver_version?: string
}

export interface GpuReadiness {
  readonly gpu_readiness_ok?: boolean
  /** Code, such as `ready`, `no_driver`, `no_gpu` or `uncorrected_errors`. */
  readonly gpu_readiness_reason?: string
  readonly gpu_readiness_checked_unix_ms?: number
}

export interface GpuProbeOptions {
  /** True if SVC_GPU_MODEL and SVC_GPU_VRAM_MB declare a GPU; the driver is then not queried for an inventory. */
  readonly declared: boolean
  /** False: the fields of the readiness stay empty. */
  readonly readiness: boolean
  readonly run?: RunProgram
  readonly now?: () => number
}

/** Returns the GPUs of this host and whether they can run work. Never rejects, except for an aborted signal. */
export async function probeGpus(options: GpuProbeOptions, signal: AbortSignal): Promise<GpuFacts & GpuReadiness> {
  const { declared, readiness, run = runProgram, now = Date.now } = options
  const checked = (ok: boolean, reason: string): GpuReadiness =>
    readiness ? { gpu_readiness_ok: ok, gpu_readiness_reason: reason, gpu_readiness_checked_unix_ms: now() } : {}
  if (declared && !readiness) return declaredFacts()
  const listed = await output(run, QUERY, signal)
  if (listed === null) {
    if (declared) return { ...declaredFacts(), ...checked(false, 'no_driver') }
    return checked(false, 'no_driver')
  }
  const gpus = rowsOf(listed)
  const version = gpus[0]?.[3]
  const cuda = /CUDA Version\s*:\s*([\d.]+)/.exec((await output(run, REPORT, signal)) ?? '')?.[1]
  const sick = unhealthy(await output(run, HEALTH, signal))
  const healthy = gpus.filter(([index = '']) => !sick.has(index)).length
  const inventory: GpuFacts = declared
    ? declaredFacts()
    : {
        gpu_total_count: gpus.length,
        gpu_healthy_count: healthy,
        gpu_allocatable_count: healthy,
        gpu_inventory_source: 'nvidia-smi',
        gpu_truth_layer: 'driver'
      }
  const facts = {
    ...inventory,
    ...defined({ nvidia_driver_version: version || undefined, cuda_driver_version: cuda })
  }
  if (gpus.length === 0) return { ...facts, ...checked(false, 'no_gpu') }
  return { ...facts, ...(healthy === 0 ? checked(false, 'uncorrected_errors') : checked(true, 'ready')) }
}

/** Repeats a probe at most every five minutes, since it starts programs. */
export class CachedGpuProbe {
  readonly #probe: (signal: AbortSignal) => Promise<GpuFacts & GpuReadiness>
  readonly #now: () => number
  #last: { readonly at: number; readonly facts: GpuFacts & GpuReadiness } | null = null

  /** @param now Milliseconds of a clock that does not jump. */
  constructor(probe: (signal: AbortSignal) => Promise<GpuFacts & GpuReadiness>, now = () => performance.now()) {
    this.#probe = probe
    this.#now = now
  }

  async facts(signal: AbortSignal): Promise<GpuFacts & GpuReadiness> {
    if (this.#last === null || this.#now() - this.#last.at >= PROBE_MS)
      this.#last = { at: this.#now(), facts: await this.#probe(signal) }
    return this.#last.facts
  }
}

function declaredFacts(): GpuFacts {
  return {
    gpu_total_count: 1,
    gpu_healthy_count: 1,
    gpu_allocatable_count: 1,
    gpu_inventory_source: 'settings',
    gpu_truth_layer: 'declared'
  }
}

async function output(run: RunProgram, args: readonly string[], signal: AbortSignal): Promise<string | null> {
  try {
    return await run('nvidia-smi', args, signal)
  } catch {
    signal.throwIfAborted()
    return null
  }
}

function rowsOf(csv: string): readonly (readonly string[])[] {
  return csv
    .split('\n')
    .map(line => line.split(',').map(cell => cell.trim()))
    .filter(cells => cells.length > 1 && /^\d+$/.test(cells[0] ?? ''))
}

/** Returns the indexes of GPUs with uncorrected memory errors. GPUs without error correction report `[N/A]`. */
function unhealthy(csv: string | null): ReadonlySet<string> {
  const rows = csv === null ? [] : rowsOf(csv)
  return new Set(rows.flatMap(([index = '', errors = '']) => (Number(errors) > 0 ? [index] : [])))
}
