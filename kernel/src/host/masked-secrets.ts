import type { KnownSecrets } from '../core/logger.ts'

/** Minimum length of masked secrets in characters. Shorter ones occur inside too many other words. */
const MIN_SECRET_LENGTH = 6
/** Maximum number of remembered secrets from inputs. Those from settings are never dropped. */
const MAX_INPUT_SECRETS = 256
const MASK = '***'

/** Secrets that this process knows and masks in logs. */
export class MaskedSecrets implements KnownSecrets {
  readonly #secrets = new Set<string>()
  /** Secrets from inputs, oldest first. */
  readonly #fromInputs = new Set<string>()
  #pattern: RegExp | undefined

  add(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) return
    this.#secrets.add(secret)
    this.#compile()
  }

  addFromInput(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) return
    const isNew = !this.#fromInputs.delete(secret)
    this.#fromInputs.add(secret)
    if (!isNew) return
    const [oldest] = this.#fromInputs
    if (this.#fromInputs.size > MAX_INPUT_SECRETS && oldest !== undefined) this.#fromInputs.delete(oldest)
    this.#compile()
  }

  #compile(): void {
    // A secret may be escaped in JSON. Longer forms are masked first, since one may contain another.
    const forms = new Set(
      [...this.#secrets, ...this.#fromInputs].flatMap(each => [each, JSON.stringify(each).slice(1, -1)])
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
