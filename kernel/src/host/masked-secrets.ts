import type { KnownSecrets } from '../core/logger.ts'

/** Minimum length of masked secrets in characters. Shorter ones occur inside too many other words. */
const MIN_SECRET_LENGTH = 6
/** Maximum number of remembered secrets from inputs. Those from settings are never dropped. */
const MAX_INPUT_SECRETS = 256
const MASK = '***'

/** Patterns of one secret. */
interface Forms {
  /** Texts that contain the secret: as it is, escaped in JSON, in Base64. */
  readonly texts: readonly string[]
  /** Source of a regular expression for the secret with any of its characters percent-encoded. */
  readonly percent: string
}

/** Secrets that this process knows and masks in logs, also in JSON, in URLs and in Base64. */
export class MaskedSecrets implements KnownSecrets {
  readonly #secrets = new Map<string, Forms>()
  /** Secrets from inputs, oldest first. */
  readonly #fromInputs = new Map<string, Forms>()
  /** Patterns for all secrets, compiled on the next use. */
  #patterns: { readonly texts: RegExp; readonly percent: RegExp } | undefined

  add(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) return
    this.#secrets.set(secret, formsOf(secret))
    this.#patterns = undefined
  }

  addFromInput(secret: string): void {
    if (secret.length < MIN_SECRET_LENGTH || this.#secrets.has(secret)) return
    const known = this.#fromInputs.get(secret)
    this.#fromInputs.delete(secret)
    this.#fromInputs.set(secret, known ?? formsOf(secret))
    if (known !== undefined) return
    const [oldest] = this.#fromInputs.keys()
    if (this.#fromInputs.size > MAX_INPUT_SECRETS && oldest !== undefined) this.#fromInputs.delete(oldest)
    this.#patterns = undefined
  }

  mask(text: string): string {
    if (this.#secrets.size + this.#fromInputs.size === 0) return text
    this.#patterns ??= compile(new Map([...this.#fromInputs, ...this.#secrets]))
    const { texts, percent } = this.#patterns
    // First the encoded form: otherwise the part of it that equals another secret would be masked first.
    const partly = /[%+]/.test(text) ? text.replace(percent, MASK) : text
    return partly.replace(texts, MASK)
  }
}

/** Longer forms are masked first, since one may contain another. */
function compile(secrets: ReadonlyMap<string, Forms>): { readonly texts: RegExp; readonly percent: RegExp } {
  const texts = [...new Set([...secrets.values()].flatMap(forms => forms.texts))]
  const byLength = [...secrets].sort(([a], [b]) => b.length - a.length)
  return {
    texts: new RegExp(
      texts
        .sort((a, b) => b.length - a.length)
        .map(escaped)
        .join('|'),
      'g'
    ),
    percent: new RegExp(byLength.map(([, { percent }]) => percent).join('|'), 'g')
  }
}

function formsOf(secret: string): Forms {
  const json = inJson(secret)
  const texts = [
    secret,
    json,
    json.replaceAll('/', '\\/'),
    json.replace(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    // JSON that is itself the text of a JSON document, such as a line of the log.
    inJson(json),
    ...base64Forms(secret)
  ]
  return { texts, percent: [...secret].map(percentPattern).join('') }
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/**
 * Returns the Base64 of a text at each offset within a group of three bytes, such as in `user:password`. Without the
 * characters that also contain bits of the text before or after it.
 */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [0, 1, 2].flatMap(offset => {
    const [first, end] = [Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6)]
    const padded = Buffer.concat([Buffer.alloc(offset), bytes])
    return (['base64', 'base64url'] as const).map(encoding => padded.toString(encoding).slice(first, end))
  })
}

/**
 * Returns a pattern for a character: percent-encoded once or several times, as it is, or as `+` for a space. The encoded
 * form comes first, because a percent sign is also the beginning of its encoded form.
 */
function percentPattern(character: string): string {
  const bytes = [...Buffer.from(character)].map(byte => {
    const digits = byte.toString(16).padStart(2, '0')
    return `%(?:25)*${digits.replace(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`)}`
  })
  return `(?:${bytes.join('')}|${escaped(character)}${character === ' ' ? '|\\+' : ''})`
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
