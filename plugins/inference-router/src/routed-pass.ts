import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

const HEADER = 'x-svc-routed'

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
