import { raceAbort } from '@svc/plugin-sdk'

/** Part of the lifetime of a login after which a new one is made. */
const RENEW_AT = 0.8

export interface IssuedToken {
  readonly token: string
  /** Seconds until the token ends. `Infinity`: it does not end. */
  readonly lifetimeS: number
}

/** Login of a backend at its server. Concurrent calls share one; it is renewed before its end, and a failure is not kept. */
export class SecretLogin {
  readonly #logIn: () => Promise<IssuedToken>
  readonly #now: () => number
  #current: Promise<string> | null = null
  /** End of the current login, in milliseconds of `now`; infinite while it is being made. */
  #untilMs = Number.POSITIVE_INFINITY

  /** `logIn` must end by itself: no caller's signal applies to it, because others may wait for it, too. */
  constructor(logIn: () => Promise<IssuedToken>, now: () => number) {
    this.#logIn = logIn
    this.#now = now
  }

  /** Returns a token. Throws the error of the login, and the signal's reason. */
  token(signal?: AbortSignal): Promise<string> {
    const isValid = this.#current !== null && this.#untilMs > this.#now()
    return raceAbort(signal, isValid ? (this.#current as Promise<string>) : this.#renew())
  }

  /** Forgets a token that the server no longer accepts. */
  async end(token: string): Promise<void> {
    const current = this.#current
    const held = await current?.catch(() => null)
    if (held === token && this.#current === current) this.#current = null
  }

  #renew(): Promise<string> {
    this.#untilMs = Number.POSITIVE_INFINITY
    const login = this.#logIn().then(({ token, lifetimeS }) => {
      if (this.#current === login) this.#untilMs = this.#now() + lifetimeS * 1_000 * RENEW_AT
      return token
    })
    this.#current = login
    login.catch(() => {
      if (this.#current === login) this.#current = null
    })
    return login
  }
}
