import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback } from '@svc/contracts'

const HEADER = 'x-svc-routed'
const WILDCARDS: readonly string[] = ['0.0.0.0', '::']

/** True if a URL reaches the listener at `own`. A listener on a wildcard `host` is reachable by any loopback name. */
export function reaches(target: string, own: string, host: string): boolean {
  if (target === own) return true
  const [one, other] = [new URL(target), new URL(own)]
  const isLocal = isLoopback(one.hostname) && (isLoopback(host) || WILDCARDS.includes(host))
  return one.protocol === other.protocol && one.port === other.port && isLocal
}

/** Secret of this process that marks requests of its inference client, which has already triggered the model hooks. */
export class RoutedPass {
  readonly #secret = randomBytes(16).toString('hex')

  headers(): Readonly<Record<string, string>> {
    return { [HEADER]: this.#secret }
  }

  isIn({ [HEADER]: given }: IncomingHttpHeaders): boolean {
    if (typeof given !== 'string' || given.length !== this.#secret.length) return false
    return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(this.#secret, 'latin1'))
  }
}
