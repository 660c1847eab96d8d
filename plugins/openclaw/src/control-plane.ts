import { skillsGatewayErrors } from '@svc/contracts'
import { raceAbort } from '@svc/plugin-sdk'
import { shownAddress } from './conceal.ts'
import { ConnectionLost, ControlConnection, PROTOCOL } from './control-connection.ts'
import type { DiscoveredGateway, Discovery } from './discovery.ts'
import { unreachable } from './http-request.ts'
import type { Settings } from './settings.ts'

export interface ControlPlaneParts {
  readonly settings: Settings
  readonly discovery: Discovery
  readonly version: string
}

/** Calls methods of a gateway over one connection, which is opened on demand and again after a loss. */
export class ControlPlane {
  readonly #parts: ControlPlaneParts
  #connection: Promise<ControlConnection> | null = null
  #url = ''
  readonly #closing = new AbortController()

  constructor(parts: ControlPlaneParts) {
    this.#parts = parts
  }

  /** Calls a method. If the connection is lost before the response, repeats the call once on a new connection. */
  async request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    const { token } = this.#parts.settings
    for (let attempt = 1; ; attempt++) {
      const { ws_gateway_url: url, protocol } = await this.#parts.discovery.endpoints(signal)
      assertSupported(url, protocol)
      let isOpen = false
      try {
        const connection = await raceAbort(signal, this.#connected(url))
        isOpen = true
        return await connection.request(method, params, signal)
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        if (!isOpen || attempt > 1 || this.#closing.signal.aborted)
          throw unreachable(shownAddress(url), error.message, token)
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    const connection = await this.#connection?.catch(() => null)
    await connection?.close()
  }

  /** Returns the open connection, or opens one. Concurrent calls share one attempt. */
  async #connected(url: string): Promise<ControlConnection> {
    const current = this.#connection
    if (current !== null && this.#url === url) {
      const connection = await current
      if (!connection.isLost) return connection
      // Another call may already have replaced the connection.
      if (this.#connection !== current) return this.#connected(url)
    }
    if (this.#closing.signal.aborted) throw new ConnectionLost('the plugin openclaw was disposed')
    const { settings, version } = this.#parts
    const opening = ControlConnection.open({
      url,
      token: settings.token,
      requestTimeoutMs: settings.request_timeout_ms,
      challengeTimeoutMs: settings.challenge_timeout_ms,
      version,
      closing: this.#closing.signal
    })
    this.#connection = opening
    this.#url = url
    // Closes the connection to a former address.
    void current?.then(before => before.close()).catch(() => undefined)
    try {
      return await opening
    } catch (error) {
      if (this.#connection === opening) this.#connection = null
      throw error
    }
  }
}

function assertSupported(url: string, protocol: DiscoveredGateway['protocol']): void {
  if (protocol === null || (protocol.min <= PROTOCOL && PROTOCOL <= protocol.max)) return
  const { min, max } = protocol
  throw skillsGatewayErrors.create(
    'SKG_PROTOCOL',
    `${shownAddress(url)} supports protocols ${min} to ${max}; this plugin supports ${PROTOCOL}`
  )
}
