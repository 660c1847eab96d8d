import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '@svc/plugin-sdk'
import { stubCheckErrors } from '../errors.ts'

export const TIMINGS_FOLDER = 'docs/ci/build-timings'
const MAX_LANES = 200
const LANE_TIMEOUT_MS = 60 * 60 * 1_000

/** Milliseconds of each lane. */
export type Lanes = Readonly<Record<string, number>>

export interface Overrun {
  readonly lane: string
  /** Null for a lane that was not measured. */
  readonly ms: number | null
  /** Null for a lane without a budget. */
  readonly budget: number | null
}

/** Reads `{"lanes": {name: ms}}`. Throws `STB_TIMINGS_INVALID`. */
export async function readLanes(root: string, file: string): Promise<Lanes> {
  const lanes = await readTable(root, file)
  for (const [name, ms] of Object.entries(lanes))
    if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0)
      throw invalid(file, `lanes.${name} must be a number of milliseconds`)
  return lanes as Lanes
}

/** Reads `{"lanes": {name: command}}`. Throws `STB_TIMINGS_INVALID`. */
export async function readCommands(root: string, file: string): Promise<Readonly<Record<string, string>>> {
  const lanes = await readTable(root, file)
  for (const [name, command] of Object.entries(lanes))
    if (typeof command !== 'string' || command.trim() === '') throw invalid(file, `lanes.${name} must be a command`)
  return lanes as Readonly<Record<string, string>>
}

async function readTable(root: string, file: string): Promise<Readonly<Record<string, unknown>>> {
  let document: { lanes?: unknown } | null
  try {
    document = JSON.parse(await readFile(join(root, file), 'utf8')) as typeof document
  } catch (error) {
    throw invalid(file, errorMessage(error))
  }
  const lanes = document?.lanes
  if (typeof lanes !== 'object' || lanes === null || Array.isArray(lanes))
    throw invalid(file, 'lanes must be an object')
  if (Object.keys(lanes).length > MAX_LANES) throw invalid(file, `it has more than ${MAX_LANES} lanes`)
  return lanes as Readonly<Record<string, unknown>>
}

/** True for the lane that needs CUDA. */
function isCuda(lane: string): boolean {
  return /(?:^|[-_ ])cuda(?:$|[-_ ])/i.test(lane)
}

export function withoutCuda<A>(lanes: Readonly<Record<string, A>>): Record<string, A> {
  return Object.fromEntries(Object.entries(lanes).filter(([lane]) => !isCuda(lane)))
}

/** Returns lanes that took longer than their budget, that have no budget, or that were not measured. */
export function overruns(measured: Lanes, budgets: Lanes): Overrun[] {
  return [...new Set([...Object.keys(budgets), ...Object.keys(measured)])].sort().flatMap(lane => {
    const ms = measured[lane] ?? null
    const budget = budgets[lane] ?? null
    return ms === null || budget === null || ms > budget ? [{ lane, ms, budget }] : []
  })
}

export function overrunText({ lane, ms, budget }: Overrun): string {
  if (ms === null) return `${lane}: not measured; its budget is ${budget} ms`
  if (budget === null) return `${lane}: ${ms} ms, and no budget`
  return `${lane}: ${ms} ms, over its budget of ${budget} ms`
}

/** Runs a lane in a shell, with its output on the standard error. Throws `STB_TIMINGS_INVALID` if it fails. */
export async function measure(root: string, lane: string, command: string, signal: AbortSignal): Promise<number> {
  const started = performance.now()
  const child = spawn(command, { cwd: root, shell: true, stdio: ['ignore', 2, 2], signal, timeout: LANE_TIMEOUT_MS })
  const ending = await new Promise<string | null>((resolve, reject) => {
    child.once('error', error => (signal.aborted ? reject(signal.reason) : resolve(error.message)))
    child.once('exit', (code, name) => resolve(code === 0 ? null : `it ended with ${name ?? code}`))
  })
  if (ending !== null)
    throw stubCheckErrors.create('STB_TIMINGS_INVALID', `the lane ${lane} failed: ${ending}`, {
      hint: `run it by hand: ${command}`
    })
  return Math.round(performance.now() - started)
}

function invalid(file: string, reason: string) {
  return stubCheckErrors.create('STB_TIMINGS_INVALID', `${file}: ${reason}`, { hint: 'correct the file, or create it' })
}
