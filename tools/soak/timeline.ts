import type { Faults } from './faults.ts'
import type { Ledger } from './ledger.ts'
import { pause, undisturbed } from './loads/load.ts'
import type { SvcNode } from './svc-node.ts'

/** Parts of the run, as fractions of its duration. Growth is judged in the part without faults. */
export const PHASES = [
  ['kills', 0, 0.33],
  ['reloads', 0.33, 0.7],
  ['load only', 0.7, 0.9],
  ['kills again', 0.9, 1]
] as const

type Step = (faults: Faults, one: SvcNode, two: SvcNode) => Promise<void>

/** Faults by the fraction of the duration at which they begin. They run one after the other. */
const STEPS: readonly (readonly [at: number, step: Step])[] = [
  [0.03, (faults, one) => faults.spin(one)],
  [0.05, (faults, one) => faults.killIsolated(one)],
  [0.07, faults => faults.cutNetwork()],
  [0.09, (faults, _, two) => faults.kill(two)],
  [0.12, (faults, _, two) => faults.fillDisk(two)],
  [0.14, (faults, one) => faults.kill(one)],
  [0.17, (faults, _, two) => faults.killIsolated(two)],
  [0.19, faults => faults.cutNetwork()],
  [0.21, (faults, _, two) => faults.kill(two)],
  [0.23, (faults, _, two) => faults.fillDisk(two)],
  [0.25, (faults, one) => faults.changeSettings(one)],
  [0.26, (faults, one) => faults.kill(one)],
  [0.29, faults => faults.cutNetwork()],
  [0.31, (faults, _, two) => faults.drain(two)],
  [0.38, faults => faults.cutNetwork()],
  [0.4, (faults, one) => faults.changeSettings(one)],
  [0.42, (faults, _, two) => faults.fillDisk(two)],
  [0.46, faults => faults.cutNetwork()],
  [0.48, (faults, _, two) => faults.spin(two)],
  [0.5, (faults, one) => faults.killIsolated(one)],
  [0.54, faults => faults.cutNetwork()],
  [0.56, (faults, _, two) => faults.changeSettings(two)],
  [0.58, (faults, _, two) => faults.fillDisk(two)],
  [0.62, faults => faults.cutNetwork()],
  [0.64, (faults, one) => faults.changeSettings(one)],
  [0.66, (faults, _, two) => faults.killIsolated(two)],
  [0.9, (faults, _, two) => faults.kill(two)],
  [0.92, (faults, one) => faults.kill(one)],
  [0.94, (faults, one) => faults.drain(one)],
  [0.96, faults => faults.cutNetwork()],
  [0.97, (faults, _, two) => faults.fillDisk(two)]
]

/** Reloads are at least so far apart, so that a short run reloads only some plugins. */
const MIN_RELOAD_MS = 4_000

/** Runs the faults at their times. */
export async function runTimeline(
  faults: Faults,
  [one, two]: readonly [SvcNode, SvcNode],
  durationMs: number,
  signal: AbortSignal
): Promise<void> {
  const begun = Date.now()
  for (const [at, step] of STEPS) {
    await pause(Math.max(0, begun + at * durationMs - Date.now()), signal)
    if (signal.aborted) return
    await step(faults, one, two)
  }
}

/** Reloads each plugin of both nodes in turn, as many as the phase of reloads has time for. */
export async function reloadInTurn(
  faults: Faults,
  nodes: readonly SvcNode[],
  ledger: Ledger,
  durationMs: number,
  signal: AbortSignal
): Promise<void> {
  const [, from, to] = PHASES[1]
  const begun = Date.now()
  const until = begun + to * durationMs
  await pause(from * durationMs, signal)
  if (signal.aborted) return
  const first = nodes[0] as SvcNode
  await undisturbed(ledger, first)
  const { plugins } = await first.client.json(`${first.http}/kernel/plugins`)
  const names = shuffled(
    plugins.filter((each: { state: string }) => each.state === 'active').map((each: { name: string }) => each.name)
  )
  const everyMs = Math.max(MIN_RELOAD_MS, ((to - from) * durationMs) / (names.length * nodes.length))
  for (const name of names)
    for (const node of nodes) {
      await pause(everyMs, signal)
      if (signal.aborted || Date.now() > until) return
      await undisturbed(ledger, node)
      await faults.reload(node, name)
    }
}

function shuffled(names: readonly string[]): string[] {
  return names
    .map(name => ({ name, key: Math.random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ name }) => name)
}
