import assert from 'node:assert/strict'
import { isSvcError, type SvcError } from '@svc/plugin-sdk'
import type { SecretBackend } from '../secrets/backend.ts'
import type { SecretReference, SecretsResolver } from '../secrets/resolver.ts'
import { type ConformanceSuite, holds } from './suite.ts'

export interface SecretBackendSubject {
  readonly backend: SecretBackend
  /** A secret that the backend has. */
  readonly known: { readonly name: string; readonly value: string }
  /** Name of a secret that it does not have. */
  readonly unknown: string
  /** Faults of the server, file or program behind the backend. */
  readonly faults?: readonly SecretBackendFault[]
  /** Other texts that no error may contain, such as the token of the backend. */
  readonly hidden?: readonly string[]
}

export interface SecretBackendFault {
  readonly name: string
  /** Error code while the fault lasts. Default: `SEC_BACKEND_UNAVAILABLE`. */
  readonly code?: string
  begin(): unknown
  end(): unknown
}

/** Conformance cases for every `secrets.backend.NAME@1`. */
export function secretBackendSuite(subject: SecretBackendSubject): ConformanceSuite {
  const { backend, known, unknown, faults = [], hidden = [] } = subject
  const refusal = async (name: string, code: string): Promise<SvcError> => {
    const error = await backend.resolve(name).then(
      () => assert.fail(`${name} was resolved`),
      (caught: unknown) => caught
    )
    holds(isSvcError(error, code), `the call throws ${code}, not ${String(error)}`)
    const shown = JSON.stringify([error.message, error.hint, error.data, String(error.cause)])
    for (const text of [known.value, ...hidden]) holds(!shown.includes(text), 'no error contains a secret value')
    return error
  }
  // toestub-ignore(ai-laziness/assertion-only-body) - the cases of a conformance suite consist of assertions
  const resolves = async (): Promise<void> => assert.equal(await backend.resolve(known.name), known.value)
  return [
    {
      name: 'resolves a secret, also in two concurrent calls',
      async run() {
        const values = await Promise.all([backend.resolve(known.name), backend.resolve(known.name)])
        assert.deepEqual(values, [known.value, known.value])
      }
    },
    {
      name: 'rejects an unknown name',
      async run() {
        const { message } = await refusal(unknown, 'SEC_NOT_FOUND')
        holds(message.includes(unknown), 'the message names the secret')
      }
    },
    {
      name: 'rejects names of properties that every object has',
      async run() {
        for (const name of ['constructor', '__proto__', 'toString']) await refusal(name, 'SEC_NOT_FOUND')
      }
    },
    {
      name: 'rejects names that leave the place of its secrets',
      async run() {
        for (const name of ['..', `../${known.name}`, `x/../${known.name}`, `./${known.name}`])
          await refusal(name, 'SEC_NOT_FOUND')
      }
    },
    ...faults.map(fault => ({
      name: `reports a fault and recovers from it: ${fault.name}`,
      async run() {
        await fault.begin()
        try {
          await refusal(known.name, fault.code ?? 'SEC_BACKEND_UNAVAILABLE')
        } finally {
          await fault.end()
        }
        await resolves()
      }
    }))
  ]
}

export interface SecretLoginSubject {
  /** A backend that logs in, instead of using a token, and has not done so yet. */
  readonly backend: SecretBackend
  readonly known: { readonly name: string; readonly value: string }
  /** Logins until now. */
  logins(): number | Promise<number>
  /** Makes the time pass after which the backend renews its login, which has not ended yet. */
  passRenewal(): void
  /** Makes the server end all logins before their time. */
  endLogins(): unknown
  /** A backend with wrong credentials, and the secret part of them. */
  readonly wrong: { readonly backend: SecretBackend; readonly secret: string }
}

/** Conformance cases for every backend that logs in at a server. They depend on each other. */
export function secretLoginSuite(subject: SecretLoginSubject): ConformanceSuite {
  const { backend, known, wrong } = subject
  // toestub-ignore(ai-laziness/assertion-only-body) - the cases of a conformance suite consist of assertions
  const resolves = async (logins: number): Promise<void> => {
    assert.equal(await backend.resolve(known.name), known.value)
    assert.equal(await subject.logins(), logins)
  }
  return [
    {
      name: 'shares one login among calls',
      async run() {
        await Promise.all([backend.resolve(known.name), backend.resolve(known.name)])
        await resolves(1)
      }
    },
    {
      name: 'renews a login before its end',
      async run() {
        subject.passRenewal()
        await resolves(2)
      }
    },
    {
      name: 'repeats a login that the server ended',
      async run() {
        await subject.endLogins()
        await resolves(3)
      }
    },
    {
      name: 'reports wrong credentials without showing them, and does not keep the failure',
      async run() {
        for (let attempt = 0; attempt < 2; attempt++) {
          const error = await wrong.backend.resolve(known.name).then(
            () => assert.fail('the login succeeded'),
            (caught: unknown) => caught
          )
          holds(isSvcError(error, 'SEC_BACKEND_UNAVAILABLE'), `the call throws SEC_BACKEND_UNAVAILABLE, not ${error}`)
          const shown = JSON.stringify([error.message, error.hint, error.data, String(error.cause)])
          holds(!shown.includes(wrong.secret), 'no error contains the credentials')
        }
      }
    }
  ]
}

export interface SecretsResolverSubject {
  readonly resolver: SecretsResolver
  /** A secret that the resolver has. */
  readonly known: SecretReference & { readonly value: string }
  /** A secret that its backend does not have. */
  readonly unknown: SecretReference
}

/** Conformance cases for every `secrets.resolver@1`. */
export function secretsResolverSuite({ resolver, known, unknown }: SecretsResolverSubject): ConformanceSuite {
  const reference = { backend: known.backend, name: known.name }
  const refusal = async (reference: SecretReference, code: string): Promise<void> => {
    const error = await resolver.resolve(reference).then(
      () => assert.fail(`${reference.backend}/${reference.name} was resolved`),
      (caught: unknown) => caught
    )
    holds(isSvcError(error, code), `the call throws ${code}, not ${String(error)}`)
    holds(
      error.message.includes(reference.backend) && error.message.includes(reference.name),
      'the message names the reference'
    )
    const shown = JSON.stringify([error.message, error.hint, error.data, String(error.cause)])
    holds(!shown.includes(known.value), 'no error contains a secret value')
  }
  return [
    {
      name: 'lists its backends, including that of a known secret',
      async run() {
        holds(resolver.backends.includes(known.backend), `${known.backend} is among the backends`)
        for (const backend of resolver.backends) assert.match(backend, /^[a-z][a-z0-9_-]*$/)
      }
    },
    {
      name: 'resolves a secret, also in two concurrent calls',
      async run() {
        const values = await Promise.all([resolver.resolve(reference), resolver.resolve(reference)])
        assert.deepEqual(values, [known.value, known.value])
      }
    },
    { name: 'rejects an unknown name', run: () => refusal(unknown, 'SEC_NOT_FOUND') },
    {
      name: 'rejects an unknown backend',
      run: () => refusal({ backend: 'no-such-backend', name: known.name }, 'SEC_BACKEND_UNKNOWN')
    }
  ]
}
