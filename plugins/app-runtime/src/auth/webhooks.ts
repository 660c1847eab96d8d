import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { WebhookProvider, WebhookRule } from '@svc/contracts'

/** Why a request is no delivery of a webhook. */
export type WebhookProblem = 'unsigned' | 'wrong' | 'outdated' | 'repeated'

/** Maximum age of a delivery, and maximum advance of the sender's clock, in seconds. */
const WINDOW_SECONDS = 300

/** Maximum number of remembered signatures. */
const MAX_SIGNATURES = 10_000

/** Signatures of a delivery, and the text that they sign. */
interface Signed {
  readonly timestamp: number | null
  readonly prefix: string
  readonly signatures: readonly Buffer[]
}

/** Verifies the signatures of webhooks over the raw body, and refuses a delivery that was seen already. */
export class Webhooks {
  /** Secrets by the name that programs use. */
  readonly #secrets: Readonly<Record<string, string>>
  readonly #nowMs: () => number
  /** Expiry in Unix seconds by signature, oldest first. */
  readonly #seen: Map<string, number>

  /** `seen`: deliveries to an earlier version of the program. */
  constructor(
    secrets: Readonly<Record<string, string>>,
    nowMs: () => number = Date.now,
    seen = new Map<string, number>()
  ) {
    this.#seen = seen
    this.#secrets = secrets
    this.#nowMs = nowMs
  }

  /** True if the secret of a rule is set. */
  has({ secret }: WebhookRule): boolean {
    return Object.hasOwn(this.#secrets, secret)
  }

  /** Returns the problem of a delivery; null if it is valid. Call it only if {@link has}. */
  problemOf({ provider, secret }: WebhookRule, headers: IncomingHttpHeaders, body: Buffer): WebhookProblem | null {
    const signed = SCHEMES[provider](headers)
    if (signed === null) return 'unsigned'
    const { timestamp, prefix, signatures } = signed
    const now = Math.floor(this.#nowMs() / 1000)
    const key = keyOf(provider, this.#secrets[secret] as string)
    const expected = createHmac('sha256', key).update(prefix).update(body).digest()
    const isRight = signatures.some(each => each.length === expected.length && timingSafeEqual(each, expected))
    if (!isRight) return 'wrong'
    if (timestamp === null) return null
    if (Math.abs(now - timestamp) > WINDOW_SECONDS) return 'outdated'
    return this.#isRepeated(expected.toString('base64'), now, timestamp) ? 'repeated' : null
  }

  #isRepeated(signature: string, now: number, timestamp: number): boolean {
    if ((this.#seen.get(signature) ?? 0) >= now) return true
    this.#seen.set(signature, timestamp + WINDOW_SECONDS)
    for (const [each, until] of this.#seen) {
      if (until >= now && this.#seen.size <= MAX_SIGNATURES) break
      this.#seen.delete(each)
    }
    return false
  }
}

const SCHEMES: Readonly<Record<WebhookProvider, (headers: IncomingHttpHeaders) => Signed | null>> = {
  /** `X-Hub-Signature-256: sha256=HEX` over the body. GitHub signs no time. */
  github(headers) {
    const value = headers['x-hub-signature-256']
    const hex = typeof value === 'string' ? /^sha256=([0-9a-f]{64})$/i.exec(value)?.[1] : undefined
    return hex === undefined ? null : { timestamp: null, prefix: '', signatures: [Buffer.from(hex, 'hex')] }
  },
  /** `Stripe-Signature: t=SECONDS,v1=HEX,…` over `SECONDS.BODY`. */
  stripe(headers) {
    const value = headers['stripe-signature']
    if (typeof value !== 'string') return null
    const parts = value.split(',').map(part => part.trim().split('=', 2) as [string, string | undefined])
    const time = parts.find(([key]) => key === 't')?.[1]
    const hexes = parts.flatMap(([key, hex]) =>
      key === 'v1' && /^[0-9a-f]{64}$/i.test(hex ?? '') ? [hex as string] : []
    )
    if (time === undefined || !/^\d{1,12}$/.test(time) || hexes.length === 0) return null
    return { timestamp: Number(time), prefix: `${time}.`, signatures: hexes.map(hex => Buffer.from(hex, 'hex')) }
  },
  /** Standard Webhooks: `webhook-id`, `webhook-timestamp`, and `webhook-signature: v1,BASE64 …` over `ID.SECONDS.BODY`. */
  generic(headers) {
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': value } = headers
    if (typeof id !== 'string' || typeof time !== 'string' || typeof value !== 'string') return null
    const texts = value.split(' ').flatMap(each => /^v1,([\w+/]{43}=)$/.exec(each)?.[1] ?? [])
    if (!/^\d{1,12}$/.test(time) || texts.length === 0) return null
    const signatures = texts.map(text => Buffer.from(text, 'base64'))
    return { timestamp: Number(time), prefix: `${id}.${time}.`, signatures }
  }
}

/** Standard Webhooks writes secrets in base64, after `whsec_`. */
function keyOf(provider: WebhookProvider, secret: string): Buffer | string {
  return provider === 'generic' && secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret
}
