import type { KnownSecrets } from '../core/logger.ts'

/** Shorter secrets are not masked, since they are part of too many other words. */
const MIN_SECRET_LENGTH = 6
/** Maximum of remembered secrets of inputs; those of settings are remembered forever. */
const MAX_PASSING_SECRETS = 256
const MASK = '***'

/** Secrets that this process knows, so that they are masked in logs. */
export class MaskedSecrets implements KnownSecrets {
  readonly #secrets = new Set<string>()
  /** Secrets of inputs, oldest first. */
  readonly #passing = new Set<string>()
  #pattern: RegExp | undefined

  add(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) return
    this.#secrets.add(secret)
    this.#compile()
  }

  addPassing(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) return
    const isNew = !this.#passing.delete(secret)
    this.#passing.add(secret)
    if (!isNew) return
    const [oldest] = this.#passing
    if (this.#passing.size > MAX_PASSING_SECRETS && oldest !== undefined) this.#passing.delete(oldest)
    this.#compile()
  }

  #compile(): void {
    // In JSON it may look different. Longer ones first, since one may be part of another.
    const forms = new Set(
      [...this.#secrets, ...this.#passing].flatMap(each => [each, JSON.stringify(each).slice(1, -1)])
    )
    const ordered = [...forms].sort((a, b) => b.length - a.length)
    this.#pattern = new RegExp(ordered.map(escaped).join('|'), 'g')
  }

  mask(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, MASK)
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
