import assert from 'node:assert/strict'
import { isSvcError } from '@svc/plugin-sdk'
import type { SecretBackend } from '../secrets/backend.ts'
import type { SecretReference, SecretsResolver } from '../secrets/resolver.ts'
import { type ConformanceSuite, holds } from './suite.ts'

export interface SecretBackendSubject {
  readonly backend: SecretBackend
  /** A secret that the backend has. */
  readonly known: { readonly name: string; readonly value: string }
  /** Name of a secret that it does not have. */
  readonly unknown: string
}

/** Conformance cases for every `secrets.backend.NAME@1`. */
export function secretBackendSuite({ backend, known, unknown }: SecretBackendSubject): ConformanceSuite {
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
        const error = await backend.resolve(unknown).then(
          () => assert.fail(`${unknown} was resolved`),
          (caught: unknown) => caught
        )
        holds(isSvcError(error, 'SEC_NOT_FOUND'), `the call throws SEC_NOT_FOUND, not ${String(error)}`)
        holds(error.message.includes(unknown), 'the message names the secret')
        const shown = JSON.stringify([error.message, error.hint, error.data, String(error.cause)])
        holds(!shown.includes(known.value), 'no error contains a secret value')
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
