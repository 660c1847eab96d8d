import { MemoryActorStore } from '../actors/memory-actor-store.ts'
import type { Durable } from '../interpreter/durable.ts'
import { MemoryWorkflowStore } from './memory-workflow-store.ts'

/** Returns storage in memory, for a program without a database. */
export function memoryDurable(
  sleep: (duration: number) => void
): Durable & { readonly workflows: MemoryWorkflowStore } {
  return {
    workflows: new MemoryWorkflowStore(),
    actors: new MemoryActorStore(),
    now: Date.now,
    sleep,
    skipsTime: false,
    endsWithProgram: true,
    notify: null
  }
}

/** Returns storage for tests of programs, in which waiting only advances the clock. */
export function skippingDurable(): Durable & { readonly workflows: MemoryWorkflowStore } {
  let skipped = 0
  return {
    ...memoryDurable(duration => {
      skipped += duration
    }),
    now: () => Date.now() + skipped,
    skipsTime: true
  }
}
