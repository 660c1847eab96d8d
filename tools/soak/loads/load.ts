import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultWindow, Ledger } from '../ledger.ts'
import type { SvcNode } from '../svc-node.ts'

/** Parts of the run that all loads use. */
export interface LoadContext {
  readonly nodes: readonly [SvcNode, SvcNode]
  readonly ledger: Ledger
  /** Aborted when the load is to end. */
  readonly signal: AbortSignal
  /** Prefix of all keys of this run. */
  readonly run: string
}

/** A part of the mixed load. */
export interface Load {
  readonly name: string
  /** Runs until the signal is aborted. */
  run(): Promise<void>
  /** Checks after the load that nothing acknowledged was lost. */
  check?(): Promise<void>
}

/** Calls `step` for each node in turn, at intervals that vary by a fifth, until the signal is aborted. */
export async function repeat(
  { nodes, signal }: LoadContext,
  everyMs: number,
  step: (node: SvcNode, count: number) => Promise<unknown>
): Promise<void> {
  // Loads begin at different times.
  await pause(Math.random() * everyMs, signal)
  for (let count = 0; !signal.aborted; count++) {
    await step(nodes[count % 2] as SvcNode, Math.floor(count / 2))
    await pause(everyMs * (0.9 + Math.random() * 0.2), signal)
  }
}

export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => {})
}

/** Resolves once the node has no fault, or rejects after four minutes. */
export async function undisturbed(ledger: Ledger, node: SvcNode): Promise<void> {
  const isOpen = (window: FaultWindow): boolean => window.part === node.name && window.to === Number.POSITIVE_INFINITY
  for (let tries = 0; ledger.windows.some(isOpen); tries++) {
    if (tries > 960) throw new Error(`node ${node.name} is still disturbed`)
    await pause(250)
  }
}
