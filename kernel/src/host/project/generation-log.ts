import type { ChangeReport, GenerationReport } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import type { Kernel } from '../../core/kernel.ts'

const MAX_ENTRIES = 100

/** The last generations and refused changes. Holds names only, so that no old plugin code stays in memory. */
export class GenerationLog {
  readonly #kernel: () => Kernel
  readonly #entries: GenerationReport[] = []

  constructor(kernel: () => Kernel) {
    this.#kernel = kernel
  }

  /** Newest first. */
  list(): readonly GenerationReport[] {
    return this.#entries.toReversed()
  }

  /** Records a generation that began to serve. */
  served(cause: string, ms: number, { add, replace, remove, keep }: ChangeReport): void {
    const changes = { added: [...add], replaced: [...replace], removed: [...remove], kept: [...keep] }
    this.#add(cause, ms, { ...changes, refused: null })
  }

  /** Records a change that was refused. */
  refused(cause: string, ms: number, error: unknown): void {
    const code = isSvcError(error) ? error.code : null
    const message = this.#kernel().mask(errorMessage(error))
    this.#add(cause, ms, { added: [], replaced: [], removed: [], kept: [], refused: { code, message } })
  }

  #add(cause: string, ms: number, changes: Omit<GenerationReport, 'generation' | 'time' | 'cause' | 'ms'>): void {
    const { current, topics } = this.#kernel()
    const time = new Date().toISOString()
    this.#entries.push({ generation: current.id, time, cause, ms: Math.round(ms * 10) / 10, ...changes })
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift()
    topics.changed('kernel.generation')
  }
}
