import { errorMessage } from '@svc/plugin-sdk'
import { isSmoke } from '../smoke-mode.ts'

/** Reasons why parts of a benchmark are not measured on this machine. */
export class LeftOut {
  readonly reasons: string[] = []

  /** Opens a part. Returns null, and records the reason, if that fails. */
  async open<A>(what: string, open: () => A | Promise<A>): Promise<A | null> {
    try {
      return await open()
    } catch (error) {
      this.add(what, errorMessage(error))
      return null
    }
  }

  /** Opens a part that needs packages from the network. A smoke run leaves it out. */
  async openPeer<A>(what: string, open: () => A | Promise<A>): Promise<A | null> {
    if (!isSmoke) return this.open(what, open)
    this.add(what, 'a smoke run installs no packages')
    return null
  }

  add(what: string, reason: string): void {
    this.reasons.push(`${what}: ${reason}`)
  }

  text(): string {
    return this.reasons.map(reason => `not measured: ${reason}\n`).join('')
  }
}
