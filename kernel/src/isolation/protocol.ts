import type { Invocation } from '@svc/contracts'
import type { DrainReason, Health, Hook, Logger, PluginManifest, Principal, TapOptions } from '@svc/plugin-sdk'
import type { EncodedError } from './remote-error.ts'

/**
 * Version of the protocol between host and child. They differ only if svc was updated while it ran. Increment it with
 * every change of this file.
 */
export const PROTOCOL = 4

/** Data that the child needs to activate the plugin. */
export interface Activation {
  readonly protocol: number
  readonly sdk: number
  readonly manifest: PluginManifest
  /** Validated settings with resolved secrets. Secrets are never passed in the environment or on a command line. */
  readonly config: unknown
  /** Path of the bundle. */
  readonly bundle: string
  readonly packageRoot: string
  readonly projectRoot: string
  readonly dataRoot: string
}

/** Registrations of the plugin, without operations, which the manifest lists. */
export interface Contributions {
  readonly taps: readonly { readonly hook: Pick<Hook, 'id' | 'mode' | 'onError'>; readonly options: TapOptions }[]
  /** Items of points whose items are data. */
  readonly items: readonly {
    readonly point: string
    readonly item: unknown
    readonly keys: readonly string[]
    readonly label: string
  }[]
  /** Labels of health checks. */
  readonly health: readonly string[]
  /** Labels of `onServe` listeners. `prepares`: true if one of them has a `prepare` function. */
  readonly serves: readonly string[]
  readonly prepares: boolean
  /** Labels of `onDrain` listeners. */
  readonly drains: readonly string[]
}

export interface RemoteCall {
  readonly operation: string
  readonly input: unknown
  readonly surface: Invocation['surface']
  readonly principal: Principal
  readonly requestId: string
  readonly traceparent: string
  readonly timeoutMs: number | undefined
}

/** Requests of the host to the child. Taps and health checks are identified by their index in {@link Contributions}. */
export type ToChild = {
  readonly activate: readonly [Activation, Contributions]
  readonly invoke: readonly [RemoteCall, unknown]
  readonly tap: readonly [{ readonly index: number; readonly args: readonly unknown[] }, unknown]
  readonly health: readonly [number, Health]
  readonly reconfigure: readonly [unknown, unknown]
  readonly prepare: readonly [null, null]
  readonly serve: readonly [null, null]
  readonly stopWork: readonly [DrainReason, null]
  readonly ping: readonly [null, null]
  /** Payload of `drain` and `dispose`: time limit in milliseconds. */
  readonly drain: readonly [number, boolean]
  readonly dispose: readonly [number, unknown]
}

/** Requests of the child to the host. */
export type ToHost = {
  readonly call: readonly [
    Pick<RemoteCall, 'operation' | 'input' | 'timeoutMs'> & {
      readonly requestId: string | undefined
      readonly traceparent: string | undefined
    },
    unknown
  ]
  readonly trigger: readonly [{ readonly hook: string; readonly args: readonly unknown[] }, unknown]
  readonly log: readonly [
    {
      readonly level: keyof Logger
      readonly message: string
      readonly fields: Readonly<Record<string, unknown>>
      readonly errors: Readonly<Record<string, EncodedError>>
    },
    unknown
  ]
  /** Payload: topics that were announced in one turn of the child's event loop. */
  readonly changed: readonly [readonly string[], unknown]
  readonly uncaught: readonly [EncodedError, unknown]
}
