import type { AuthProvider, Identity } from '@svc/contracts'
import type { ProofRequest, Verified, Verifier } from './verifier.ts'

/** A proven identity. */
export interface Proven {
  readonly identity: Identity
  /** The identity as JSON, for threads. */
  readonly json: string
  /** Time in milliseconds, of `performance.now()`, until which the result may be reused. */
  readonly until: number
}

/** Outcome of the search for an identity. `none`: the request has no proof. */
export type Outcome = 'none' | 'invalid' | 'expired' | Proven

/** Maximum number of remembered proofs. */
const MAX_PROOFS = 10_000

/** Proves identities with all providers, and remembers them for a short time. */
export class Authenticator {
  readonly #verifiers: readonly Verifier[]
  /** By provider and proof; the oldest is the first. */
  readonly #proven = new Map<string, Proven>()

  constructor(verifiers: readonly Verifier[]) {
    this.#verifiers = verifiers
  }

  /** True if a provider is set up. */
  has(provider: AuthProvider | null): boolean {
    return this.#of(provider).length > 0
  }

  /**
   * Searches for an identity in a request, with one provider or with all. The result is a promise only if the proof is
   * not remembered. Rejects if the proof cannot be checked now. `isOptional`: a cookie without a session is no proof.
   */
  identify(
    request: ProofRequest,
    provider: AuthProvider | null,
    header: string | null,
    isOptional = false
  ): Outcome | Promise<Outcome> {
    const verifiers = this.#of(provider)
    if (request.bearer !== null) return this.ofBearer(request.bearer, provider)
    if (provider === 'bearer') return 'none'
    for (const verifier of verifiers) {
      const proof = verifier.ofRequest(request, header)
      if (proof === null) continue
      const outcome = this.#outcomeOf(verifier, proof)
      if (!isOptional || verifier.provider !== 'session') return outcome
      // Browsers send the cookie of an ended session, too, and their users must not lose what anyone may call.
      return outcome instanceof Promise ? outcome.then(orNone) : orNone(outcome)
    }
    return 'none'
  }

  /** Checks a bearer token. */
  ofBearer(token: string, provider: AuthProvider | null): Outcome | Promise<Outcome> {
    const verifier = this.#of(provider).find(each => each.acceptsBearer(token))
    return verifier === undefined ? 'invalid' : this.#outcomeOf(verifier, token)
  }

  /** Forgets remembered identities, such as those of a session that ended. */
  forget(isMeant: (identity: Identity) => boolean): void {
    for (const [key, { identity }] of this.#proven) if (isMeant(identity)) this.#proven.delete(key)
  }

  #of(provider: AuthProvider | null): readonly Verifier[] {
    if (provider === null || provider === 'bearer') return this.#verifiers
    // Signing in with OpenID Connect begins a session.
    const wanted = provider === 'oauth' ? 'session' : provider
    return this.#verifiers.filter(each => each.provider === wanted)
  }

  #outcomeOf(verifier: Verifier, proof: string): Outcome | Promise<Outcome> {
    const key = `${verifier.provider} ${proof}`
    const known = this.#proven.get(key)
    if (known !== undefined) {
      if (performance.now() < known.until) return known
      this.#proven.delete(key)
    }
    return verifier.verify(proof).then(verified => this.#remember(key, verified))
  }

  #remember(key: string, verified: Verified): Outcome {
    if ('problem' in verified) return verified.problem
    const { identity, freshMs } = verified
    const proven = { identity, json: JSON.stringify(identity), until: performance.now() + freshMs }
    if (freshMs > 0) {
      this.#proven.set(key, proven)
      const [oldest] = this.#proven.keys()
      if (this.#proven.size > MAX_PROOFS && oldest !== undefined) this.#proven.delete(oldest)
    }
    return proven
  }
}

function orNone(outcome: Outcome): Outcome {
  return typeof outcome === 'string' ? 'none' : outcome
}
